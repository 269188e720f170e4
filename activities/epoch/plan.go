// Package epoch has the activities that plan and commit an epoch. It does not know how episodes are played, graded and
// trained on: it reads their records.
package epoch

import (
	"context"
	"errors"
	"fmt"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/activities/play"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/prompts"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
)

// Control plans and commits epochs. Its activities read and write the store. They open the environments of a run
// to read their lists of tasks, so a control worker needs the data of recorded environments.
type Control struct {
	activities.Common
	Suites *play.Suites
}

// Plan is what the workflow needs of topology and slots.
type Plan struct {
	Slots    int
	Topology string // for the summary
	Accepted bool   `json:",omitempty"` // a person lets the epoch continue without what failed
	Learns   bool   `json:",omitempty"` // labels need a value that is learnt from earlier epochs
	Next     Beside `json:",omitempty"` // the part beside which the next epoch may roll out
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
func (c *Control) PlanEpoch(ctx context.Context, id activities.EpochID) (Plan, error) {
	log := c.Log.For(id.Run, "epoch", id.Epoch)

	return activities.Do(ctx, log, func(ctx context.Context, _ activities.Progress) (Plan, error) {
		return c.planEpoch(ctx, id)
	})
}

// PlanAhead is PlanEpoch while the epoch before continues. The plan has no slots if the epoch before is not planned
// yet, so that changes by people count in the order of epochs, or if the policies that roll out are not known yet.
func (c *Control) PlanAhead(ctx context.Context, id activities.EpochID) (Plan, error) {
	log := c.Log.For(id.Run, "epoch", id.Epoch)

	return activities.Do(ctx, log, func(ctx context.Context, _ activities.Progress) (Plan, error) {
		planned, err := runs.Run(id.Run).Slots(id.Epoch-1).Exists(ctx, c.Bucket)
		if err != nil || !planned {
			return Plan{}, err
		}
		plan, err := c.planEpoch(ctx, id)
		if errors.Is(err, errTooEarly) {
			return Plan{}, nil
		}

		return plan, err
	})
}

func (c *Control) planEpoch(ctx context.Context, id activities.EpochID) (Plan, error) {
	s, err := Begin(ctx, c.Common, c.Suites, id, 0)
	if err != nil {
		return Plan{}, err
	}
	topology, err := c.topology(ctx, s, id.Epoch)
	if err != nil {
		return Plan{}, err
	}
	writer, err := c.Runs.Writer(ctx, id.Run)
	if err != nil {
		return Plan{}, err
	}
	planned := runs.Run(id.Run).Slots(id.Epoch)
	slots, _, err := planned.Record(ctx, c.Bucket, func() (runs.Slots, error) {
		out, err := c.slots(ctx, s, id)
		out.By = writer.By

		return out, err
	})
	if err := writer.Check(planned.Key, slots.By, err); err != nil {
		return Plan{}, err
	}
	accepted, err := runs.Run(id.Run).IsAccepted(ctx, c.Bucket, id.Epoch)

	return Plan{
		Slots: len(slots.Slots), Topology: fmt.Sprint(topology.Edges), Accepted: accepted,
		Learns: s.Credit == spec.CreditAdvantage, Next: besideNext(s, id.Epoch), Known: valDecidesNothing(s),
	}, err
}

// valDecidesNothing reports whether no system that stands depends on val.
func valDecidesNothing(specification spec.Spec) bool { return specification.Gates.MaxValDrop >= 1 }

// besideNext returns the part of an epoch beside which the next one may roll out, by the specification of the epoch.
func besideNext(specification spec.Spec, epoch int) Beside {
	switch {
	case epoch >= specification.Epochs:
		return ""
	case specification.Staleness > 0:
		return BesideUpdates
	case valDecidesNothing(specification):
		return BesideEvaluation
	}

	return ""
}

// topology records E_k, which differs from the topology of the epoch before.
func (c *Control) topology(ctx context.Context, specification spec.Spec, epoch int) (domain.Topology, error) {
	run := runs.Run(specification.Name)
	topology, _, err := run.Topology(epoch).Record(ctx, c.Bucket, func() (domain.Topology, error) {
		if epoch == 1 {
			return rules.Topology(specification, epoch, nil), nil
		}
		previous, _, err := run.Topology(epoch-1).Must(ctx, c.Bucket)

		return rules.Topology(specification, epoch, &previous), err
	})

	return topology, err
}

// slots draws the slots of an epoch.
func (c *Control) slots(ctx context.Context, specification spec.Spec, id activities.EpochID) (runs.Slots, error) {
	system, err := c.rollsOut(ctx, specification, id.Epoch)
	if err != nil {
		return runs.Slots{}, err
	}
	suite, err := c.Suites.Get(ctx, specification.Where(specification.Environment))
	if err != nil {
		return runs.Slots{}, err
	}
	prompt, err := rules.Prompt(specification, prompts.Agent)
	if err != nil {
		return runs.Slots{}, err
	}

	out := runs.Slots{Epoch: id.Epoch, System: system, Prompt: prompt.Digest}
	for n := range specification.Slots {
		slot, err := rules.Slot(specification, suite, id.Epoch, n+1, 0)
		if err != nil {
			return out, err
		}
		out.Slots = append(out.Slots, slot)
	}

	return out, nil
}

// errTooEarly means that an epoch cannot be planned yet.
var errTooEarly = errors.New("the epoch before has not come far enough")

// rollsOut returns the system that rolls out in an epoch: what stands after the epoch before, or after the one before
// that if policies may lag. What stands is known before the commit if val cannot change it.
func (c *Control) rollsOut(ctx context.Context, specification spec.Spec, epoch int) (runs.System, error) {
	run := runs.Run(specification.Name)
	from := max(0, epoch-1-specification.Staleness)
	if from == 0 {
		return run.Standing(ctx, c.Bucket, 0, specification.Agents)
	}
	e, committed, err := run.Epoch(from).May(ctx, c.Bucket)
	if err != nil || committed {
		return e.System, err
	}
	then, err := c.Runs.Spec(ctx, specification.Name, from)
	if err != nil {
		return runs.System{}, err
	}
	if !valDecidesNothing(then) {
		return runs.System{}, errTooEarly
	}
	for agent := range specification.Agents {
		updated, err := run.Update(from, agent).Exists(ctx, c.Bucket)
		if err != nil {
			return runs.System{}, err
		}
		if !updated {
			return runs.System{}, errTooEarly
		}
	}

	return run.System(ctx, c.Bucket, from, specification.Agents)
}
