package activities

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/credit"
	"github.com/collabui/collabui/internal/method/prompts"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/observe/events"
	"github.com/collabui/collabui/internal/policy/endpoints"
	"github.com/collabui/collabui/internal/records/runs"
)

// Paired says how an episode was labelled, and how many pairs were made of it.
type Paired struct {
	Credited
	Pairs int
}

// CreditAndPairing labels every cell of an episode, then makes its preference pairs, or its samples for GRPO. Labels
// that an attempt recorded before it was cut short stay.
func (m *Models) CreditAndPairing(ctx context.Context, id SlotID) (Paired, error) {
	log := m.log(id.Run, "epoch", id.Epoch, "slot", id.Slot)
	ctx = endpoints.InEpoch(ctx, id.Epoch)

	return do(ctx, log, func(ctx context.Context, say say) (out Paired, err error) {
		l := &labelling{SlotID: id}
		c, err := m.credit(ctx, l, say)
		if err != nil {
			return out, err
		}
		out.Credited = credited(c)
		if out.Pairs, err = m.pairing(ctx, l, say); err != nil {
			return out, err
		}
		m.Emit.send(id.Run, events.Labels{
			Epoch: id.Epoch, Slot: id.Slot,
			Right: out.Positive, Wrong: out.Negative, Unsure: out.Uncertain, Pairs: out.Pairs,
		})

		return out, nil
	})
}

// pairing records the pairs of an episode that is labelled, and returns their number. The adversary's answers, and what
// became of them, are recorded with the pairs.
func (m *Models) pairing(ctx context.Context, l *labelling, say say) (int, error) {
	p, ref, err := runs.Run(l.Run).Pairs(l.Epoch, l.Slot).Record(ctx, m.Bucket, func() (runs.Pairs, error) {
		return m.pairs(ctx, l, say)
	})

	return len(p.Pairs), m.of(ctx, l, p.Episode, ref, err)
}

func (m *Models) pairs(ctx context.Context, l *labelling, say say) (runs.Pairs, error) {
	s, err := m.spec(ctx, l.Run, l.Epoch)
	if err != nil {
		return runs.Pairs{}, err
	}
	if err := m.sameAs(ctx, s, l.Epoch, nil); err != nil {
		return runs.Pairs{}, err
	}
	e, err := m.episode(ctx, l)
	if err != nil {
		return runs.Pairs{}, err
	}
	out := runs.Pairs{Episode: e.ref, Credit: l.ref, Calls: []runs.Call{}, Pairs: []domain.Example{}}
	plan, err := m.plan(ctx, l.Run, l.Epoch)
	if err != nil {
		return out, err
	}
	pairing := rules.Pairing(s, plan.topology, e.slot)
	if s.Preference == spec.PreferenceGRPO {
		samples, counts := credit.Samples(pairing, l.Slot, e.slot.Task.Template, e.steps, l.credits.Steps)
		out.Pairs, out.Counts = append(out.Pairs, samples...), counts

		return out, nil
	}

	propose, err := m.adversary(s, plan.slots.System.Digests())
	if err != nil {
		return out, err
	}
	adversary := func(ctx context.Context, step domain.Step, cell domain.Cell, n int) ([]credit.Proposal, error) {
		call := runs.Call{
			Step: step.Number, Agent: cell.Agent, Round: cell.Round,
			Seed: domain.Seed(e.slot.Seed, "adversary", step.Number, cell.Agent, cell.Round),
		}
		if err := propose(ctx, step, cell, n, &call); err != nil {
			if fault.KindOf(err) == fault.Refused {
				call.Refused = agents.Refusal(err)
				out.Calls = append(out.Calls, call)
			}

			return nil, err
		}
		out.Calls = append(out.Calls, call)
		say(fmt.Sprintf("step %d, agent %d, round %d", call.Step, call.Agent, call.Round))

		return proposals(call), nil
	}
	grade, err := m.grader(s, e.slot, &out.Audit)
	if err != nil {
		return out, err
	}

	pairs, counts, err := credit.Pairs(ctx, pairing, l.Slot, e.slot.Task.Template, e.steps, l.credits.Steps, adversary,
		grade)
	out.Pairs, out.Counts = append(out.Pairs, pairs...), counts

	return out, err
}

// proposals returns the answers of a call with their log-probabilities, as far as they are known.
func proposals(call runs.Call) []credit.Proposal {
	out := make([]credit.Proposal, len(call.Texts))
	for i, text := range call.Texts {
		out[i].Text = text
		if i < len(call.LogProbs) {
			out[i].LogProb = call.LogProbs[i]
		}
	}

	return out
}

// proposer asks the adversary for n answers to the prompt of a cell. It fills the model, the texts and the usage of a
// call whose seed is given.
type proposer func(ctx context.Context, step domain.Step, cell domain.Cell, n int, call *runs.Call) error

// adversary returns the model that plays the adversary: the agent's own policy at high temperature, or a chat model,
// whose actions come in the wording of the embedded policy, if that is trained.
func (m *Models) adversary(s spec.Spec, policies []string) (proposer, error) {
	template, err := rules.Template(s)
	if err != nil {
		return nil, err
	}
	if s.Adversary.Model == spec.RolePolicy {
		return func(ctx context.Context, _ domain.Step, cell domain.Cell, n int, call *runs.Call) error {
			call.Model = policies[cell.Agent]
			r, err := m.Policies.Complete(ctx, chat.Request{
				Model: call.Model, System: template.System(), User: cell.Prompt,
				Temperature: s.Adversary.Temperature, TopP: s.Adversary.TopP, MaxTokens: s.Decoding.MaxTokens,
				Seed: call.Seed, N: n,
			})
			call.Texts, call.LogProbs, call.Usage = r.Texts, r.LogProbs, r.Usage

			return err
		}, nil
	}

	model, p, err := m.Endpoints.For(s, s.Adversary.Model, prompts.Adversary)
	if err != nil {
		return nil, err
	}
	target, err := m.Wording.target(s)
	a := credit.ModelAdversary{
		Chat: model, Prompt: p, Forms: prompts.FormsOf(string(s.Family())),
		Temperature: s.Models[s.Adversary.Model].Temperature, TopP: 1,
	}

	return func(ctx context.Context, step domain.Step, cell domain.Cell, n int, call *runs.Call) (err error) {
		call.Model = s.Models[s.Adversary.Model].Model
		call.Texts, call.Usage, err = a.Propose(ctx, step, cell, n, call.Seed)
		for i, text := range call.Texts {
			if action, err := s.Answers.Answer(text); err == nil && target.Render != nil {
				call.Texts[i] = target.Word(action, step.Observation)
			}
		}
		if err == nil {
			call.LogProbs, err = m.hardness(ctx, policies[cell.Agent], template.System(), cell.Prompt, call.Texts)
		}

		return err
	}, err
}

// hardness returns the log-probabilities of a chat model's answers under the agent's policy: the more probable a wrong
// answer, the more there is to learn from it. It returns nil if the policy servers cannot score answers, and 0 for an
// answer that the policy cannot say. A policy that does not exist yet, as in a level 3 that comes first, scores none.
func (m *Models) hardness(ctx context.Context, policy, system, prompt string, texts []string) ([]float64, error) {
	if policy == "" {
		return nil, nil
	}
	scores, err := m.Scores.Score(ctx, chat.ScoreRequest{Model: policy, System: system, User: prompt, Answers: texts})
	if errors.Is(err, chat.ErrNoScores) || fault.KindOf(err) == fault.Refused {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}

	out := make([]float64, len(scores))
	for i, s := range scores {
		if !math.IsInf(s.LogProb, -1) {
			out[i] = s.LogProb
		}
	}

	return out, nil
}
