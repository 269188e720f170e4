package activities

import (
	"context"
	"fmt"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/credit"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/policy/endpoints"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// Models play the training-time roles: critic, adversary, and the authors of stage 1.
type Models struct {
	Common
	Policies  chat.Model  // answers for the agents; a model's name is a policy's digest
	Scores    chat.Scorer // scores answers under the policies: the hardest rejected answers come first
	Endpoints *endpoints.Endpoints
	Wording   Wording
}

// Credited counts the labels of an episode.
type Credited struct {
	Positive, Negative, Uncertain int
	Refused                       int    `json:",omitempty"` // steps about which the critic's model said nothing of use
	Why                           string `json:",omitempty"` // it said nothing of use about the first of them
}

// labelling is the labelling of a slot's episode. What credit has read and made, pairing need not read.
type labelling struct {
	SlotID
	read    *played
	credits *runs.Credits
	ref     store.Ref // of the credits
}

// credit records the labels of every cell of an episode (docs/method.md, Credit). The critic sees neither the outcome
// nor the next screen, except with `credit: outcome`, which uses the outcome alone.
func (m *Models) credit(ctx context.Context, l *labelling, say say) (runs.Credits, error) {
	c, ref, err := runs.Run(l.Run).Credits(l.Epoch, l.Slot).Record(ctx, m.Bucket, func() (runs.Credits, error) {
		return m.credits(ctx, l, say)
	})
	if err = m.of(ctx, l, c.Episode, ref, err); err == nil {
		l.credits, l.ref = &c, ref
	}

	return c, err
}

// of returns the error of having recorded what was made of an episode, and otherwise a corrupt fault if that is not the
// episode of the slot.
func (m *Models) of(ctx context.Context, l *labelling, made, record store.Ref, err error) error {
	if err != nil {
		return err
	}
	own := store.Ref{}
	if l.read != nil {
		own = l.read.ref
	} else if _, own, err = runs.Run(l.Run).Episode(ctx, m.Bucket, l.Epoch, l.Slot); err != nil {
		return err
	}
	if made.Same(own) {
		return nil
	}

	return fault.New(fault.Corrupt, "%s was written by another run of this name, or of another episode than %s: "+
		"delete this object, then resume the run, which makes it again", record.Key, own.Key)
}

// credited counts labels.
func credited(c runs.Credits) Credited {
	n := count(c.Steps)
	for _, a := range c.Audit {
		why := a.UselessReason()
		if why == "" {
			continue
		}
		if n.Refused++; n.Why == "" {
			n.Why = fmt.Sprintf("step %d: %s", a.Step, agents.Line(why, maxQuoted))
		}
	}

	return n
}

// credits labels the steps of an episode in order.
func (m *Models) credits(ctx context.Context, l *labelling, say say) (runs.Credits, error) {
	s, err := m.spec(ctx, l.Run, l.Epoch)
	if err != nil {
		return runs.Credits{}, err
	}
	if err := m.sameAs(ctx, s, l.Epoch, nil); err != nil {
		return runs.Credits{}, err
	}
	e, err := m.episode(ctx, l)
	if err != nil {
		return runs.Credits{}, err
	}

	c := runs.Credits{Episode: e.ref, Critic: rules.CriticName(s, m.Catalog)}
	label, err := m.labeller(ctx, s, e, &c.Audit)
	if err != nil {
		return c, err
	}
	for _, step := range e.steps {
		labels, err := label(ctx, step)
		if err != nil {
			return c, fmt.Errorf("step %d: %w", step.Number, err)
		}
		c.Steps = append(c.Steps, labels)
		say(fmt.Sprintf("step %d of %d", step.Number, len(e.steps)))
	}

	return c, nil
}

func count(steps []domain.Credit) Credited {
	var n Credited
	for _, step := range steps {
		for _, l := range step.Labels {
			switch l {
			case domain.Positive:
				n.Positive++
			case domain.Negative:
				n.Negative++
			default:
				n.Uncertain++
			}
		}
	}

	return n
}

// played is a recorded episode with its steps.
type played struct {
	ref     store.Ref
	slot    domain.Slot
	success bool
	steps   []domain.Step
}

// episode reads the episode of a slot, unless it is read.
func (m *Models) episode(ctx context.Context, l *labelling) (played, error) {
	if l.read != nil {
		return *l.read, nil
	}
	e, ref, err := runs.Run(l.Run).Episode(ctx, m.Bucket, l.Epoch, l.Slot)
	if err != nil {
		return played{}, err
	}
	recorded, err := e.ReadSteps(ctx, m.Bucket)
	out := played{ref: ref, slot: e.Slot, success: e.Outcome.Success}
	for _, step := range recorded {
		out.steps = append(out.steps, step.Step)
	}
	if err == nil {
		l.read = &out
	}

	return out, err
}

// labeller labels a step: by the run's critic, or by the outcome.
type labeller func(ctx context.Context, step domain.Step) (domain.Credit, error)

// labeller returns how the steps of a slot's episode are labelled. What a critic that is a model says is appended to
// audit.
func (m *Models) labeller(
	ctx context.Context, s spec.Spec, e played, audit *[]credit.Audit,
) (labeller, error) {
	switch {
	case s.Credit == spec.CreditOutcome:
		return func(_ context.Context, step domain.Step) (domain.Credit, error) {
			return credit.Outcome(step, e.success), nil
		}, nil
	case s.Credit == spec.CreditAdvantage:
		return m.advantages(ctx, s.Name, e)
	case s.Critic.Model == spec.RoleOracle:
		flips := credit.Flips{Share: s.Critic.Error, Type: s.Critic.WrongOn, Seed: e.slot.Seed}

		return func(_ context.Context, step domain.Step) (domain.Credit, error) {
			l := credit.Oracle(step)
			flips.Apply(step.Number, step.Decision.Cells, l.Labels)

			return l, nil
		}, nil
	}

	critic, err := m.Endpoints.Critic(s)

	return func(ctx context.Context, step domain.Step) (domain.Credit, error) {
		l, a, err := critic.Label(ctx, step, domain.Seed(e.slot.Seed, "credit", step.Number))
		if err == nil {
			*audit = append(*audit, a)
		}

		return l, err
	}, err
}

// grader returns how the adversary's candidates are labelled: by the run's critic. What a critic that is a model says
// is appended to audit.
func (m *Models) grader(s spec.Spec, slot domain.Slot, audit *[]credit.Audit) (credit.Grade, error) {
	if s.Critic.Model == spec.RoleOracle || s.Credit != spec.CreditCritic {
		flips := credit.Flips{Share: s.Critic.Error, Type: s.Critic.WrongOn, Seed: slot.Seed}

		return func(
			ctx context.Context, step domain.Step, labels []domain.Label, candidates []domain.Cell,
		) ([]domain.Label, error) {
			l, err := credit.OracleGrade(ctx, step, labels, candidates)
			flips.Apply(step.Number, candidates, l)

			return l, err
		}, nil
	}

	critic, err := m.Endpoints.Critic(s)

	return func(
		ctx context.Context, step domain.Step, labels []domain.Label, candidates []domain.Cell,
	) ([]domain.Label, error) {
		seed := credit.CandidatesSeed(slot.Seed, step.Number)
		l, a, err := critic.Candidates(ctx, step, labels, candidates, seed)
		if err == nil {
			*audit = append(*audit, a)
		}

		return l, err
	}, err
}
