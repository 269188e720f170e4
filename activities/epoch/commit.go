package epoch

import (
	"context"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/internal/method/gates"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/observe/events"
	"github.com/collabui/collabui/internal/records/runs"
)

// CommitID names an epoch that is committed, and contains what its workflow knows of it.
type CommitID struct {
	activities.EpochID

	// Evaluated means that the epoch's system was evaluated on val. If it is false, an earlier execution of the
	// workflow, whose plan was another, may still have evaluated the system.
	Evaluated bool
}

// Commit writes epoch.json: the epoch exists when it does. All parts are read back and hashed in slot order.
func (c *Control) Commit(ctx context.Context, id CommitID) (Summary, error) {
	log := c.Log.For(id.Run, "epoch", id.Epoch)

	return activities.Do(ctx, log, func(ctx context.Context, _ activities.Progress) (Summary, error) {
		var a assembly // what was counted, if the epoch was not recorded before
		epoch, _, err := runs.Run(id.Run).Epoch(id.Epoch).Record(ctx, c.Bucket, func() (_ runs.Epoch, err error) {
			a, err = c.assemble(ctx, id)

			return a.epoch, err
		})
		if err != nil {
			return Summary{}, err
		}

		summary := SummaryOf(epoch)
		c.Emit.Send(id.Run, events.Epoch{
			Epoch: id.Epoch, Rollouts: summary.Rollouts, Pairs: summary.Pairs, Val: summary.Val, Kept: summary.Kept,
			Digest: summary.Digest, Positive: a.labels.PositiveShare(), Failed: summary.Failed,
			Quarantined: a.quarantined,
		})

		return summary, nil
	})
}

// assemble reads everything that belongs to an epoch.
func (c *Control) assemble(ctx context.Context, id CommitID) (assembly, error) {
	specification, err := c.Runs.Spec(ctx, id.Run, id.Epoch)
	if err != nil {
		return assembly{}, err
	}
	parts, err := runs.NewEpochParts()
	if err != nil {
		return assembly{}, err
	}
	defer parts.Close()
	a := assembly{
		bucket: c.Bucket, run: runs.Run(id.Run), epoch: runs.Epoch{Number: id.Epoch}, parts: parts,
		pairs: map[int]int{}, quarantined: len(specification.Quarantine),
	}
	if err := a.readPlan(ctx, specification.Agents); err != nil {
		return a, err
	}
	if err := a.readSlots(ctx); err != nil {
		return a, err
	}
	if err := a.readUpdates(ctx, specification); err != nil {
		return a, err
	}

	if err := c.judge(ctx, specification, id.Evaluated, &a); err != nil {
		return a, err
	}
	accepted, there, err := a.run.Accepted(id.Epoch).Sure(ctx, c.Bucket)
	if err != nil {
		return a, err
	}
	if there {
		a.epoch.Accepted = accepted.Who + ": " + accepted.Why
	}
	a.epoch.Digest, err = parts.Digest()

	return a, err
}

// judge reads what the epoch's system reached on val, if it was evaluated. If the system that the epoch's updates began
// with was certainly better, it rolls the epoch back to that one.
func (c *Control) judge(ctx context.Context, specification spec.Spec, evaluated bool, a *assembly) error {
	recorded := ValResult(specification.Name, a.epoch.Number, rules.TrainedName(specification.Agents))
	if !evaluated {
		var err error
		_, evaluated, err = recorded.Sure(ctx, c.Bucket)
		if err != nil || !evaluated {
			return err
		}
	}
	val, _, err := recorded.Must(ctx, c.Bucket)
	if err != nil {
		return err
	}
	a.epoch.Val = &val

	parent, err := Val(ctx, c.Bucket, specification, a.before.Version)
	if err != nil || parent == nil { // evaluation.every leaves out epochs
		return err
	}
	then, err := c.Runs.Spec(ctx, specification.Name, a.before.Version)
	if err != nil || !rules.SameVal(specification, then) {
		return err
	}
	if valDecidesNothing(specification) {
		return nil
	}
	pairs, err := pairedVal(ctx, c.Bucket, specification, a.before.Version, a.epoch.Number)
	if err != nil {
		return err
	}
	a.epoch.Kept = gates.Rollback(specification.Gates, pairs)
	if a.epoch.Kept != "" {
		a.epoch.System = a.before
		a.parts.Kept = a.epoch.Kept
	}

	return nil
}
