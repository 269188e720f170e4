package retrain

import (
	"context"
	"fmt"
	"slices"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/activities/play"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/records/lines"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/records/schedules"
)

// Found is what a workflow needs of a firing.
type Found struct {
	News     schedules.News
	Why      string
	Run      string
	Line     string
	Outcome  *schedules.Outcome // nil unless the firing has ended already
	Missed   int                // firings that were too late since the one before
	Approval string             // how long a person has to approve; empty if no approval is needed
}

// Look compares what a schedule's environment offers now with what the accepted system of its line was made for. It
// calls no model. It is an invalid fault if the line has no accepted system, or if no gate could compare systems on
// what is new.
func (c *Control) Look(ctx context.Context, id FiringID) (Found, error) {
	return activities.Do(ctx, id.log(c.Log), func(ctx context.Context, _ activities.Progress) (Found, error) {
		name := schedules.Schedule(id.Schedule)
		version, _, err := name.Version(id.Version).Must(ctx, c.Bucket)
		if err != nil {
			return Found{}, err
		}
		firing, _, err := name.Firing(id.ID).Record(ctx, c.Bucket, func() (schedules.Firing, error) {
			return c.look(ctx, version, id)
		})
		if err != nil {
			return Found{}, err
		}

		found := Found{
			News: firing.News, Why: firing.Why, Run: firing.Run, Line: version.Schedule.Line,
			Approval: version.Schedule.Approval.Within, Missed: firing.Missed - firing.MissedBefore,
		}
		outcome, ended, err := name.Outcome(id.ID).May(ctx, c.Bucket)
		if ended {
			found.Outcome = &outcome
		}

		return found, err
	})
}

// look finds what is new.
func (c *Control) look(
	ctx context.Context, version schedules.Version, id FiringID,
) (schedules.Firing, error) {
	firing := schedules.Firing{ID: id.ID, Version: version.Number, At: id.At}
	var err error
	firing.Missed, firing.MissedBefore, err = c.missed(ctx, id)
	if err != nil {
		return firing, err
	}
	line := lines.Line(version.Schedule.Line)
	accepted, history, accepts, err := line.Standing(ctx, c.Bucket)
	if err != nil {
		return firing, err
	}
	if !accepts {
		return firing, fault.New(fault.Invalid, "line %s has no accepted system yet: accept one with "+
			"`collabui line promote %s RUN --why TEXT`", line, line)
	}
	firing.Entries = accepted.Number + len(history)
	firing.Accepted = accepted.System
	if accepted.Basis == nil || accepted.Verb == lines.Rollback { // a person accepted it, perhaps again
		history, err = line.History(ctx, c.Bucket, 0)
		if err != nil {
			return firing, err
		}
	}

	before, now, err := c.inventories(ctx, version, accepted.System)
	if err != nil {
		return firing, err
	}
	ref, err := now.PutBlob(ctx, c.Bucket)
	if err != nil {
		return firing, err
	}
	firing.Basis = lines.Basis{
		Accepted: accepted.System.String(), Inventory: ref, Schedule: id.Schedule, Firing: id.ID,
	}
	firing.Old, firing.New = before.Same(now, domain.SplitTrain)
	firing.News, firing.Why = newsOf(version, before, now, firing)
	if firing.News == schedules.NewsNone {
		return firing, nil
	}

	again := decidedBefore(history, firing.Basis)
	if again == "" && firing.News == schedules.NewsCheck && !version.Schedule.Drift.Always {
		again, err = c.checkedBefore(ctx, id.Schedule, firing.Basis)
		if err != nil {
			return firing, err
		}
	}
	if again != "" {
		firing.News = schedules.NewsNone
		firing.Why = again

		return firing, nil
	}
	firing.Run = id.Schedule + "-" + id.ID  // a line may have several schedules
	if firing.News != schedules.NewsCheck { // which trains only what has become worse
		err = checkGate(now, firing)
	}

	return firing, err
}

// inventories returns what the accepted system was made for, and what the schedule's environment offers now.
func (c *Control) inventories(
	ctx context.Context, version schedules.Version, accepted lines.SystemRef,
) (before, now runs.Inventory, err error) {
	where := version.Schedule.Where()
	before, err = runs.Run(accepted.Run).Inventory(ctx, c.Bucket, accepted.Epoch)
	if err != nil {
		return before, now, err
	}
	now, err = c.Suites.Look(ctx, version.Schedule.Environment, where)

	return play.WithinMixed(before, where), now, err
}

// checkedBefore returns which firing of a schedule has checked the same for drift, and how that ended. It is empty if
// no firing has.
func (c *Control) checkedBefore(ctx context.Context, schedule string, basis lines.Basis) (string, error) {
	name := schedules.Schedule(schedule)
	var last schedules.Outcome
	err := name.Backward(ctx, c.Bucket, func(outcome schedules.Outcome) bool {
		if outcome.News == schedules.NewsCheck && outcome.Verb == schedules.VerbNone {
			last = outcome
		}

		return last.ID == ""
	})
	if err != nil || last.ID == "" {
		return "", err
	}
	firing, _, err := name.Firing(last.ID).Must(ctx, c.Bucket)
	if err != nil || !firing.Basis.Same(basis) {
		return "", err
	}

	return fmt.Sprintf("nothing has changed since firing %s checked it: %s", last.ID, last.Why), nil
}

// missed returns how many firings of a schedule were too late until now, and until the firing before.
func (c *Control) missed(ctx context.Context, id FiringID) (now, before int, err error) {
	if c.Missed == nil {
		return 0, 0, nil
	}
	last, ok, err := schedules.Schedule(id.Schedule).Before(ctx, c.Bucket, id.ID)
	if err != nil {
		return 0, 0, err
	}
	now, err = c.Missed(ctx, id.Schedule)
	if err != nil {
		return 0, 0, fault.New(fault.Transient, "ask Temporal for schedule %s: %w", id.Schedule, err)
	}
	if ok {
		before = min(last.Missed, now) // a schedule that was created anew counts from 0
	}

	return now, before, nil
}

// newsOf returns what a firing finds, and a sentence about it.
func newsOf(
	version schedules.Version, before, now runs.Inventory, firing schedules.Firing,
) (news schedules.News, why string) {
	same := before.Digest() == now.Digest()
	known := len(firing.Old)
	added := len(firing.New)
	switch {
	case added > 0 && known == 0:
		return schedules.NewsEnvironment, fmt.Sprintf("%s is new: none of its %d training templates is known",
			now.Environment, added)
	case added > 0:
		return schedules.NewsTasks, fmt.Sprintf("%d new training templates: %s", added, firstNames(firing.New))
	case !same && known > 0:
		return schedules.NewsCheck, "the environment has changed, but has no new training templates"
	case version.Schedule.Drift.Always && known > 0:
		return schedules.NewsCheck, "the schedule checks for drift at every firing"
	case !same:
		return schedules.NewsNone, "the environment offers no training templates any more"
	}

	return schedules.NewsNone, "the environment offers what the accepted system was made for"
}

// decidedBefore returns the entry that decided about the same before. It is empty if there is no such entry.
func decidedBefore(history []lines.Entry, basis lines.Basis) string {
	for _, entry := range slices.Backward(history) {
		if entry.Basis != nil && entry.Basis.Same(basis) && entry.Verb != lines.Rollback {
			return fmt.Sprintf("nothing has changed since entry %d of the line: %s of %s, because %s",
				entry.Number, entry.Verb, entry.System, entry.Why)
		}
	}

	return ""
}
