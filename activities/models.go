package activities

import (
	"context"
	"errors"
	"fmt"

	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/rules"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/credit"
	"github.com/collabui/collabui/internal/method/prompts"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/process/failpoint"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
)

// Models play the training-time roles: critic and adversary.
type Models struct{ *Deps }

// Credited is a graded episode in a few figures.
type Credited struct {
	Positive, Negative, Uncertain int
}

// Credit labels every cell of an episode (METHOD.md section 4, credit re-assignment). It sees neither the outcome nor the next screen, except with
// `credit: outcome`, which is made of the outcome alone.
func (m *Models) Credit(ctx context.Context, id SlotID) (Credited, error) {
	_, stop := heartbeat(ctx)
	defer stop()
	return done(m.credit(ctx, id))
}

func (m *Models) credit(ctx context.Context, id SlotID) (Credited, error) {
	c, _, err := runs.Run(id.Run).Credits(id.Epoch, id.Slot).Record(ctx, m.Bucket, func() (runs.Credits, error) {
		s, err := m.spec(ctx, id.Run)
		if err != nil {
			return runs.Credits{}, err
		}
		ep, ref, steps, err := m.episode(ctx, id)
		if err != nil {
			return runs.Credits{}, err
		}
		c := runs.Credits{Episode: ref, Critic: rules.CriticName(s, m.Catalog)}
		label, err := m.critic(s, ep, &c)
		if err != nil {
			return c, err
		}
		for _, st := range steps {
			l, err := label(ctx, st)
			if err != nil {
				return c, fmt.Errorf("step %d: %w", st.Number, err)
			}
			c.Steps = append(c.Steps, l)
		}
		failpoint.Hit("credit")
		return c, nil
	})
	var out Credited
	for _, st := range c.Steps {
		for _, l := range st.Labels {
			switch l {
			case domain.Positive:
				out.Positive++
			case domain.Negative:
				out.Negative++
			default:
				out.Uncertain++
			}
		}
	}
	return out, err
}

// critic gives the rule by which an episode's steps are labelled.
func (m *Models) critic(s spec.Spec, ep runs.Episode, c *runs.Credits) (func(context.Context, domain.Step) (domain.Credit, error), error) {
	switch {
	case s.Credit == spec.CreditOutcome:
		return func(_ context.Context, st domain.Step) (domain.Credit, error) {
			return credit.Outcome(st, ep.Outcome.Success), nil
		}, nil
	case s.Critic.Model == spec.RoleOracle:
		flips := credit.Flips{Share: s.Critic.Error, Seed: ep.Slot.Seed}
		return func(_ context.Context, st domain.Step) (domain.Credit, error) {
			l := credit.Oracle(st)
			flips.Apply(st.Number, st.Decision.Cells, l.Labels)
			return l, nil
		}, nil
	}
	judge, err := m.judge(s)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, st domain.Step) (domain.Credit, error) {
		l, a, err := judge.Label(ctx, st, domain.Seed(ep.Slot.Seed, "credit", st.Number))
		if err == nil {
			c.Audit = append(c.Audit, a)
		}
		return l, err
	}, nil
}

// judge is the critic that is a model.
func (m *Models) judge(s spec.Spec) (credit.Critic, error) {
	model, p, err := m.endpoint(s, s.Critic.Model, prompts.Critic)
	if err != nil {
		return credit.Critic{}, err
	}
	return credit.Critic{Chat: model, Prompt: p, Forms: prompts.FormsOf(string(s.Family())), Robust: s.Critic.Rule == spec.RuleRobust, ByRound: s.Critic.Scope == spec.ScopeRound}, nil
}

// grade labels the adversary's candidates by the run's critic; what a model says of them is kept in out.
func (m *Models) grade(s spec.Spec, ep runs.Episode, out *runs.Pairs) (credit.Grade, error) {
	if s.Critic.Model == spec.RoleOracle || s.Credit == spec.CreditOutcome {
		flips := credit.Flips{Share: s.Critic.Error, Seed: ep.Slot.Seed}
		return func(ctx context.Context, st domain.Step, labels []domain.Label, cands []domain.Cell) ([]domain.Label, error) {
			l, err := credit.OracleGrade(ctx, st, labels, cands)
			flips.Apply(st.Number, cands, l)
			return l, err
		}, nil
	}
	judge, err := m.judge(s)
	return func(ctx context.Context, st domain.Step, labels []domain.Label, cands []domain.Cell) ([]domain.Label, error) {
		l, a, err := judge.Candidates(ctx, st, labels, cands, domain.Seed(ep.Slot.Seed, "candidates", st.Number))
		if err == nil {
			out.Audit = append(out.Audit, a)
		}
		return l, err
	}, err
}

func (m *Models) episode(ctx context.Context, id SlotID) (runs.Episode, store.Ref, []domain.Step, error) {
	ep, ref, err := runs.Run(id.Run).Episode(ctx, m.Bucket, id.Epoch, id.Slot)
	if err != nil {
		return ep, ref, nil, err
	}
	recorded, err := ep.ReadSteps(ctx, m.Bucket)
	steps := make([]domain.Step, len(recorded))
	for i, st := range recorded {
		steps[i] = st.Step
	}
	return ep, ref, steps, err
}

// Pairing makes the preference pairs of an episode: the adversary's answers and what became of them are recorded with the pairs.
func (m *Models) Pairing(ctx context.Context, id SlotID) (int, error) {
	_, stop := heartbeat(ctx)
	defer stop()
	return done(m.pairing(ctx, id))
}

func (m *Models) pairing(ctx context.Context, id SlotID) (int, error) {
	p, _, err := runs.Run(id.Run).Pairs(id.Epoch, id.Slot).Record(ctx, m.Bucket, func() (runs.Pairs, error) { return m.pair(ctx, id) })
	return len(p.Pairs), err
}

func (m *Models) pair(ctx context.Context, id SlotID) (runs.Pairs, error) {
	s, err := m.spec(ctx, id.Run)
	if err != nil {
		return runs.Pairs{}, err
	}
	ep, ref, steps, err := m.episode(ctx, id)
	if err != nil {
		return runs.Pairs{}, err
	}
	cr, crRef, err := runs.Run(id.Run).Credits(id.Epoch, id.Slot).Read(ctx, m.Bucket)
	if err != nil {
		return runs.Pairs{}, err
	}
	slots, _, err := runs.Run(id.Run).Slots(id.Epoch).Read(ctx, m.Bucket)
	if err != nil {
		return runs.Pairs{}, err
	}
	out := runs.Pairs{Episode: ref, Credit: crRef, Calls: []runs.Call{}, Pairs: []domain.Pair{}}
	propose, err := m.adversary(s, slots.System)
	if err != nil {
		return out, err
	}
	adversary := func(ctx context.Context, st domain.Step, cell domain.Cell, n int) ([]string, error) {
		call := runs.Call{Step: st.Number, Agent: cell.Agent, Round: cell.Round, Seed: domain.Seed(ep.Slot.Seed, "adversary", st.Number, cell.Agent, cell.Round)}
		if err := propose(ctx, st, cell, n, &call); err != nil {
			return nil, err
		}
		out.Calls = append(out.Calls, call)
		failpoint.Hit("pairing")
		return call.Texts, nil
	}
	grade, err := m.grade(s, ep, &out)
	if err != nil {
		return out, err
	}
	pairs, counts, err := credit.Pairs(ctx, rules.Pairing(s), id.Slot, ep.Slot.Task.Template, steps, cr.Steps, adversary, grade)
	if err != nil {
		return out, err
	}
	out.Pairs, out.Counts = append(out.Pairs, pairs...), counts
	return out, nil
}

// proposal fills a call of the adversary.
type proposal func(ctx context.Context, st domain.Step, cell domain.Cell, n int, call *runs.Call) error

// adversary gives what plays the adversary: the agent's own policy at high temperature, or a chat model, whose actions come in the wording of the policy where that has
// one of its own.
func (m *Models) adversary(s spec.Spec, sys runs.System) (proposal, error) {
	tmpl, err := rules.Template(s)
	if err != nil {
		return nil, err
	}
	if s.Adversary.Model == spec.RolePolicy {
		return func(ctx context.Context, _ domain.Step, cell domain.Cell, n int, call *runs.Call) error {
			call.Model = sys.Policies[cell.Agent].Digest
			r, err := m.Chat.Complete(ctx, chat.Request{Model: call.Model, System: tmpl.System(), User: cell.Prompt, Temperature: s.Adversary.Temperature,
				TopP: s.Adversary.TopP, MaxTokens: s.Decoding.MaxTokens, Seed: call.Seed, N: n})
			call.Texts, call.Usage = r.Texts, r.Usage
			return err
		}, nil
	}
	model, p, err := m.endpoint(s, s.Adversary.Model, prompts.Adversary)
	if err != nil {
		return nil, err
	}
	pol, err := m.policy(s)
	a := credit.ModelAdversary{Chat: model, Prompt: p, Forms: prompts.FormsOf(string(s.Family())), Temperature: s.Models[s.Adversary.Model].Temperature, TopP: 1}
	return func(ctx context.Context, st domain.Step, cell domain.Cell, n int, call *runs.Call) (err error) {
		call.Model = s.Models[s.Adversary.Model].Model
		call.Texts, call.Usage, err = a.Propose(ctx, st, cell, n, call.Seed)
		for i, t := range call.Texts {
			if act, err := agents.ParseAnswer(t); err == nil && pol.Render != nil {
				call.Texts[i] = pol.Word(act)
			}
		}
		return err
	}, err
}

// missing reports whether an error says that an object is absent.
func missing(err error) bool { return errors.Is(err, store.ErrNotFound) }
