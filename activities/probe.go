package activities

import (
	"context"

	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/rules"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/trainer"
)

// probers is how many answers of a probe are asked for at once.
const probers = 8

// probe compares a new policy with its parent: by the trainer where it can, else by what the policy servers answer in its name, without the KL, which no server tells.
func (g *GPU) probe(ctx context.Context, s spec.Spec, policy, parent, base string, pairs []domain.Pair, seed uint64, r *domain.TrainReport) (domain.Probe, error) {
	t, err := g.trainer(s)
	if err != nil {
		return domain.Probe{}, err
	}
	if p, ok := t.(trainer.Prober); ok {
		return p.Probe(ctx, policy, parent, base, pairs, seed)
	}
	tmpl, err := rules.Template(s)
	if err == nil {
		err = g.Load(ctx, policy, s.Serving.Quorum)
	}
	if err != nil {
		return domain.Probe{}, err
	}
	answers := make([]chat.Response, len(pairs))
	err = parallel(ctx, len(pairs), probers, func(ctx context.Context, i int) (err error) {
		answers[i], err = g.Chat.Complete(ctx, chat.Request{Model: policy, System: tmpl.System(), User: pairs[i].Prompt, Temperature: 1, TopP: 1, MaxTokens: s.Decoding.MaxTokens, Seed: domain.Seed(seed, "probe", i), N: 1})
		return err
	})
	out := domain.Probe{Prompts: len(pairs), Served: true, Actions: map[string]int{}}
	for _, a := range answers {
		if len(a.Texts) == 0 {
			continue // the error says why
		}
		out.Length += float64(len(a.Texts[0])) / float64(len(pairs))
		if act, err := agents.ParseAnswer(a.Texts[0]); err == nil {
			out.ParseRate += 1 / float64(len(pairs))
			out.Actions[act.Type]++
		}
		if len(a.LogProbs) > 0 {
			out.Entropy -= a.LogProbs[0] / float64(len(pairs))
		}
	}
	if r != nil && s.Train.Beta > 0 { // DPO's reward is β (log π − log π_ref), METHOD.md section 4
		out.LogprobDelta = r.Metrics["rewards/chosen"] / s.Train.Beta
	}
	return out, err
}
