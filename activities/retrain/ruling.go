package retrain

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/records/lines"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/records/schedules"
)

// Ruling is the decision about a re-trained system.
type Ruling struct {
	Firing   FiringID
	Accepted bool
	Who      string
	Why      string
	At       time.Time
}

// Rule writes the next entry of the line: the re-trained system is promoted, or rejected. If somebody changed the line
// since the firing began, the system was compared with one that is not accepted any more, and it is rejected.
func (c *Control) Rule(ctx context.Context, r Ruling) (Entered, error) {
	return activities.Do(ctx, r.Firing.log(c.Log), func(ctx context.Context, _ activities.Progress) (Entered, error) {
		entry, err := c.rule(ctx, r)

		return Entered{Number: entry.Number, Verb: string(entry.Verb), Why: entry.Why}, err
	})
}

// Entered is an entry of a line in a few words.
type Entered struct {
	Number int
	Verb   string
	Why    string
}

// rule writes the entry.
func (c *Control) rule(ctx context.Context, ruling Ruling) (lines.Entry, error) {
	firing, version, err := c.firing(ctx, ruling.Firing)
	if err != nil {
		return lines.Entry{}, err
	}
	line := lines.Line(version.Schedule.Line)
	ownEntry := sync.OnceValues(func() (lines.Entry, error) { return c.entry(ctx, firing, ruling) })
	for before := -1; ; {
		later, err := line.History(ctx, c.Bucket, firing.Entries)
		if err != nil {
			return lines.Entry{}, err
		}
		if i := slices.IndexFunc(later, firing.Wrote); i >= 0 {
			return later[i], nil
		}
		e, err := ownEntry()
		if err != nil {
			return e, err
		}
		if len(later) > 0 {
			e.Verb = lines.Reject
			e.Why = fmt.Sprintf("it was compared with %s, and %s has changed the line since; %s",
				firing.Accepted, later[len(later)-1].Who, e.Why)
		}
		entry, err := line.Append(ctx, c.Bucket, firing.Entries+len(later), e)
		overtaken := fault.KindOf(err) == fault.Invalid && len(later) > before // somebody was faster
		if !overtaken || ctx.Err() != nil {
			return entry, err
		}
		before = len(later)
	}
}

// entry returns the entry with which a firing ends.
func (c *Control) entry(ctx context.Context, firing schedules.Firing, ruling Ruling) (lines.Entry, error) {
	e := lines.Entry{Verb: lines.Reject, Who: ruling.Who, Why: ruling.Why, At: ruling.At, Basis: &firing.Basis}
	if ruling.Accepted {
		e.Verb = lines.Promote
	}
	gate, ref, err := runs.Run(firing.Run).Gate().Must(ctx, c.Bucket)
	if err != nil {
		return e, err
	}
	e.Gate = &ref
	for _, result := range gate.Results {
		if result.System == nameRetrained {
			e.Results = append(e.Results, result)
		}
	}
	e.System, err = lines.Find(ctx, c.Bucket, firing.Run, max(gate.Epoch, firing.Accepted.Epoch))
	if err != nil {
		return e, err
	}
	_, end, err := runs.Run(firing.Run).End().Must(ctx, c.Bucket)
	e.Evidence = &end

	return e, err
}

// Ended is how a firing ended.
type Ended struct {
	Firing  FiringID
	Outcome schedules.Outcome
}

// Conclusion records how a firing ended, and returns what is recorded.
func (c *Control) Conclusion(ctx context.Context, ended Ended) (schedules.Outcome, error) {
	log := ended.Firing.log(c.Log)

	return activities.Do(ctx, log, func(ctx context.Context, _ activities.Progress) (schedules.Outcome, error) {
		name := schedules.Schedule(ended.Firing.Schedule)
		outcome, _, err := name.Outcome(ended.Firing.ID).Record(ctx, c.Bucket, func() (schedules.Outcome, error) {
			return ended.Outcome, nil
		})

		return outcome, err
	})
}
