// Package fakepolicy answers for policies and trains them immediately, as a function of the request alone, for tests of
// everything around policies. They operate the scripted environment at random.
package fakepolicy

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/chat"
)

// Policies answer for all policies.
type Policies struct{}

// Complete taps a button at random, by the request's seed. Where the prompt allows it, half of the answers speak.
func (Policies) Complete(ctx context.Context, request chat.Request) (chat.Response, error) {
	rand := domain.Rand(request.Seed, request.Model, request.User)
	out := chat.Response{Usage: domain.Usage{Prompt: 1, Answer: 1}}
	for range request.N {
		action := domain.Action{Type: domain.ActionClick}.At(rand.IntN(6))
		if strings.Contains(request.User, "you may speak") {
			action = []domain.Action{
				action, action, action, {Type: domain.ActionTell, Text: "tap"},
				{Type: domain.ActionPoint, Index: action.Index}, {Type: domain.ActionPass},
			}[rand.IntN(6)]
		}
		text, err := Render(action)
		if err != nil {
			return out, err
		}
		out.Texts = append(out.Texts, text)
		out.LogProbs = append(out.LogProbs, -1-rand.Float64())
	}

	return out, ctx.Err()
}

// Score returns log-probabilities from -2 to -1, by the policy, the prompt and the answer.
func (Policies) Score(ctx context.Context, request chat.ScoreRequest) ([]chat.Score, error) {
	var out []chat.Score
	for _, a := range request.Answers {
		out = append(out, chat.Score{LogProb: -1 - domain.Rand(1, request.Model, request.User, a).Float64(), Tokens: 4})
	}

	return out, ctx.Err()
}

// Render writes an action in the policies' format.
func Render(action domain.Action) (string, error) {
	raw, err := json.Marshal(action)

	return fmt.Sprintf("Reason: it helps.\nAction: %s", raw), err
}
