package grade

import (
	"context"
	"errors"
	"math"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/credit"
	"github.com/collabui/collabui/internal/method/prompts"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
)

// Proposals returns the answers of a call with their log-probabilities, as far as they are known.
func Proposals(call runs.Call) []credit.Proposal {
	out := make([]credit.Proposal, len(call.Texts))
	for i, text := range call.Texts {
		out[i].Text = text
		if i < len(call.LogProbs) {
			out[i].LogProb = call.LogProbs[i]
		}
	}

	return out
}

// proposalSeed returns the seed of the adversary's call for a cell. A chat model is not shown which agent gave the
// right action, so its calls for a right action of a step have one seed and are one recorded call.
func proposalSeed(specification spec.Spec, slot domain.Slot, step int, cell domain.Cell) uint64 {
	if specification.Adversary.Prompted() {
		return domain.Seed(slot.Seed, "adversary", step, cell.Canonical)
	}

	return domain.Seed(slot.Seed, "adversary", step, cell.Agent, cell.Round)
}

// Proposer returns how the adversary proposes answers: as the agent's own policy at high temperature, at random, or as
// a chat model, whose actions are put in the wording of the embedded policy if that is trained.
func (f Feedback) Proposer(s spec.Spec, policies []string) (Proposer, error) {
	template, err := rules.Template(s)
	if err != nil {
		return nil, err
	}
	if s.Adversary.Model == spec.RolePolicy {
		return func(ctx context.Context, _ domain.Step, cell domain.Cell, n int, call *runs.Call) error {
			call.Model = policies[cell.Agent]
			response, err := f.Policies.Complete(ctx, chat.Request{
				Model: call.Model, System: template.System(), User: cell.Prompt, Images: chat.Stored(cell.Image),
				Temperature: s.Adversary.Temperature, TopP: s.Adversary.TopP, MaxTokens: s.Decoding.MaxTokens,
				Seed: call.Seed, N: n,
			})
			call.Texts = response.Texts
			call.LogProbs = response.LogProbs
			call.Usage = response.Usage

			return err
		}, nil
	}

	target, err := f.Wording.Target(s)
	if err != nil {
		return nil, err
	}
	if s.Adversary.Model == spec.RoleRandom {
		return randomProposer(target), nil
	}
	model, prompt, err := f.Endpoints.For(s, s.Adversary.Model, prompts.Adversary)
	if err != nil {
		return nil, err
	}
	forms := prompts.FormsOf(string(s.Family()))
	if s.Speech {
		forms = forms.WithSpeech()
	}
	adversary := credit.ModelAdversary{
		Chat: model, Prompt: prompt, Forms: forms,
		Temperature: s.Adversary.Temperature, TopP: s.Adversary.TopP, Limits: s.Prompt,
	}

	return func(ctx context.Context, step domain.Step, cell domain.Cell, n int, call *runs.Call) (err error) {
		call.Model = s.Models[s.Adversary.Model].Model
		call.Texts, call.Usage, err = adversary.Propose(ctx, step, cell, n, call.Seed)
		for i, text := range call.Texts {
			if action, ok := agents.ParseMessage(text); ok && target.Render != nil {
				call.Texts[i] = target.Word(action, step.Observation)
			}
		}
		if err == nil {
			call.LogProbs, err = f.hardness(ctx, policies[cell.Agent], template.System(), cell, call.Texts)
		}

		return err
	}, nil
}

// hardness returns the log-probabilities of a chat model's answers to the prompt of a cell under the agent's policy:
// the more probable a wrong answer, the more there is to learn from it. It returns nil if the policy servers cannot
// score answers, or the policy does not exist yet, as in a level 3 that comes first. Answers that the policy cannot
// write get 0.
func (f Feedback) hardness(
	ctx context.Context, policy, system string, cell domain.Cell, texts []string,
) ([]float64, error) {
	if policy == "" {
		return nil, nil
	}
	scores, err := f.Scores.Score(ctx, chat.ScoreRequest{
		Model: policy, System: system, User: cell.Prompt, Images: chat.Stored(cell.Image), Answers: texts,
	})
	if errors.Is(err, chat.ErrNoScores) || fault.KindOf(err) == fault.Refused {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}

	out := make([]float64, len(scores))
	for i, score := range scores {
		if !math.IsInf(score.LogProb, -1) {
			out[i] = score.LogProb
		}
	}

	return out, nil
}
