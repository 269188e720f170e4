package activities

import (
	"context"
	"errors"
	"fmt"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/prompts"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// epochPlan is what all rollouts of an epoch begin with, and their labels and pairs need. It is written once.
type epochPlan struct {
	slots    runs.Slots
	topology domain.Topology
	ref      store.Ref // the topology's
}

// plan returns the plan of an epoch. Plans of the two epochs that were asked for last are kept, so the cost of a
// rollout does not grow with the number of slots.
func (c *Common) plan(ctx context.Context, run string, epoch int) (*epochPlan, error) {
	v, err := c.versions(ctx, run)
	if err != nil {
		return nil, err
	}
	if p, ok := v.plans.of(epoch); ok {
		return p, nil
	}

	// All rollouts of an epoch begin at once. One of them reads for all, whatever becomes of it.
	read, err, _ := c.reads.Do(fmt.Sprint(run, "/", epoch), func() (any, error) {
		p, err := c.readPlan(context.WithoutCancel(ctx), runs.Run(run), epoch)
		if err == nil {
			v.plans.keep(epoch, p)
		}

		return p, err
	})

	return read.(*epochPlan), err
}

func (c *Common) readPlan(ctx context.Context, run runs.Run, epoch int) (p *epochPlan, err error) {
	p = &epochPlan{}
	if p.slots, _, err = run.Slots(epoch).Must(ctx, c.Bucket); err != nil {
		return p, err
	}
	p.topology, p.ref, err = run.Topology(epoch).Must(ctx, c.Bucket)

	return p, err
}

// EpochID names an epoch of a run and contains what its workflow knows of the run.
type EpochID struct {
	Run     string
	Epoch   int
	Changes int `json:",omitempty"` // how many changes by people there are at least
}

// EpochPlan is what the workflow needs of topology and slots.
type EpochPlan struct {
	Slots    int
	Topology string // for the summary
	Accepted bool   `json:",omitempty"` // a person lets the epoch go on without what failed
	Learns   bool   `json:",omitempty"` // labels need a value that is learnt from earlier epochs
	Next     Beside `json:",omitempty"` // beside what the next epoch may roll out
	Known    bool   `json:",omitempty"` // val does not change what stands after the epoch
}

// Beside is a part of an epoch beside which the next one may roll out.
type Beside string

// Parts of an epoch that the rollouts of the next one need not wait for.
const (
	BesideUpdates    Beside = "updates"    // and evaluation: its policies may lag
	BesideEvaluation Beside = "evaluation" // val changes nothing
)

// PlanEpoch records E_k and the slots of an epoch. Both follow from the specification and its changes.
func (c *Control) PlanEpoch(ctx context.Context, id EpochID) (EpochPlan, error) {
	return do(ctx, c.log(id.Run, "epoch", id.Epoch), func(ctx context.Context, _ say) (EpochPlan, error) {
		return c.planEpoch(ctx, id)
	})
}

// PlanAhead is PlanEpoch while the epoch before goes on. It has no slots if that is not planned yet, so that changes by
// people count in the order of epochs, or if the policies that roll out are not known yet.
func (c *Control) PlanAhead(ctx context.Context, id EpochID) (EpochPlan, error) {
	return do(ctx, c.log(id.Run, "epoch", id.Epoch), func(ctx context.Context, _ say) (EpochPlan, error) {
		planned, err := runs.Run(id.Run).Slots(id.Epoch-1).Exists(ctx, c.Bucket)
		if err != nil || !planned {
			return EpochPlan{}, err
		}
		p, err := c.planEpoch(ctx, id)
		if errors.Is(err, errAhead) {
			return EpochPlan{}, nil
		}

		return p, err
	})
}

func (c *Control) planEpoch(ctx context.Context, id EpochID) (EpochPlan, error) {
	s, err := c.begin(ctx, id, 0)
	if err != nil {
		return EpochPlan{}, err
	}
	topology, err := c.topology(ctx, s, id.Epoch)
	if err != nil {
		return EpochPlan{}, err
	}
	own, err := c.own(ctx, id.Run)
	if err != nil {
		return EpochPlan{}, err
	}
	planned := runs.Run(id.Run).Slots(id.Epoch)
	slots, _, err := planned.Record(ctx, c.Bucket, func() (runs.Slots, error) {
		out, err := c.slots(ctx, s, id)
		out.By = own.By

		return out, err
	})
	if err := own.check(planned.Key, slots.By, err); err != nil {
		return EpochPlan{}, err
	}
	accepted, err := runs.Run(id.Run).IsAccepted(ctx, c.Bucket, id.Epoch)

	return EpochPlan{
		Slots: len(slots.Slots), Topology: fmt.Sprint(topology.Edges), Accepted: accepted,
		Learns: s.Credit == spec.CreditAdvantage, Next: beside(s, id.Epoch), Known: known(s),
	}, err
}

// known reports whether nothing that stands depends on val.
func known(s spec.Spec) bool { return s.Gates.MaxValDrop >= 1 }

// beside returns beside what part of an epoch the next one may roll out, by the specification of the epoch.
func beside(s spec.Spec, epoch int) Beside {
	switch {
	case epoch >= s.Epochs:
		return ""
	case s.Staleness > 0:
		return BesideUpdates
	case known(s):
		return BesideEvaluation
	}

	return ""
}

// topology records E_k, which differs from the epoch before's.
func (c *Control) topology(ctx context.Context, s spec.Spec, epoch int) (domain.Topology, error) {
	run := runs.Run(s.Name)
	t, _, err := run.Topology(epoch).Record(ctx, c.Bucket, func() (domain.Topology, error) {
		if epoch == 1 {
			return rules.Topology(s, epoch, nil), nil
		}
		previous, _, err := run.Topology(epoch-1).Must(ctx, c.Bucket)

		return rules.Topology(s, epoch, &previous), err
	})

	return t, err
}

// slots draws the slots of an epoch.
func (c *Control) slots(ctx context.Context, s spec.Spec, id EpochID) (runs.Slots, error) {
	system, err := c.rollsOut(ctx, s, id.Epoch)
	if err != nil {
		return runs.Slots{}, err
	}
	suite, err := c.Suites.get(ctx, s.Where(s.Environment))
	if err != nil {
		return runs.Slots{}, err
	}
	prompt, err := rules.Prompt(s, prompts.Agent)
	if err != nil {
		return runs.Slots{}, err
	}

	out := runs.Slots{Epoch: id.Epoch, System: system, Prompt: prompt.Digest}
	for n := range s.Slots {
		slot, err := rules.Slot(s, suite, id.Epoch, n+1, 0)
		if err != nil {
			return out, err
		}
		out.Slots = append(out.Slots, slot)
	}

	return out, nil
}

// errAhead means that an epoch cannot be planned yet.
var errAhead = errors.New("the epoch before has not come far enough")

// rollsOut returns the system that rolls out in an epoch: what stands after the epoch before, or after the one before
// that if policies may lag. What stands is known before the commit if val cannot change it.
func (c *Control) rollsOut(ctx context.Context, s spec.Spec, epoch int) (runs.System, error) {
	run, from := runs.Run(s.Name), max(0, epoch-1-s.Staleness)
	if from == 0 {
		return run.Standing(ctx, c.Bucket, 0, s.Agents)
	}
	e, committed, err := run.Epoch(from).May(ctx, c.Bucket)
	if err != nil || committed {
		return e.System, err
	}
	then, err := c.spec(ctx, s.Name, from)
	if err != nil {
		return runs.System{}, err
	}
	if then.Gates.MaxValDrop < 1 {
		return runs.System{}, errAhead
	}
	for agent := range s.Agents {
		if updated, err := run.Update(from, agent).Exists(ctx, c.Bucket); err != nil {
			return runs.System{}, err
		} else if !updated {
			return runs.System{}, errAhead
		}
	}

	return run.System(ctx, c.Bucket, from, s.Agents)
}
