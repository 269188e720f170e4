package activities

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/records/lines"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/records/schedules"
)

// Ruling is what becomes of a re-trained system.
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
	return do(ctx, r.Firing.log(c), func(ctx context.Context, _ say) (Entered, error) {
		e, err := c.rule(ctx, r)

		return Entered{Number: e.Number, Verb: string(e.Verb), Why: e.Why}, err
	})
}

// Entered is an entry of a line in a few words.
type Entered struct {
	Number int
	Verb   string
	Why    string
}

// rule writes the entry.
func (c *Control) rule(ctx context.Context, r Ruling) (lines.Entry, error) {
	f, v, err := c.firing(ctx, r.Firing)
	if err != nil {
		return lines.Entry{}, err
	}
	line := lines.Line(v.Schedule.Line)
	mine := sync.OnceValues(func() (lines.Entry, error) { return c.entry(ctx, f, r) })
	for before := -1; ; {
		later, err := line.History(ctx, c.Bucket, f.Entries)
		if err != nil {
			return lines.Entry{}, err
		}
		if i := slices.IndexFunc(later, f.Wrote); i >= 0 {
			return later[i], nil
		}
		e, err := mine()
		if err != nil {
			return e, err
		}
		if len(later) > 0 {
			e.Verb = lines.Reject
			e.Why = fmt.Sprintf("it was compared with %s, and %s has changed the line since; %s",
				f.Accepted, later[len(later)-1].Who, e.Why)
		}
		got, err := line.Append(ctx, c.Bucket, f.Entries+len(later), e)
		again := fault.KindOf(err) == fault.Invalid && len(later) > before // somebody was faster
		if before = len(later); !again || ctx.Err() != nil {
			return got, err
		}
	}
}

// entry returns the entry with which a firing ends.
func (c *Control) entry(ctx context.Context, f schedules.Firing, r Ruling) (lines.Entry, error) {
	e := lines.Entry{Verb: lines.Reject, Who: r.Who, Why: r.Why, At: r.At, Basis: &f.Basis}
	if r.Accepted {
		e.Verb = lines.Promote
	}
	g, ref, err := runs.Run(f.Run).Gate().Must(ctx, c.Bucket)
	if err != nil {
		return e, err
	}
	e.Gate = &ref
	for _, x := range g.Results {
		if x.System == nameRetrained {
			e.Results = append(e.Results, x)
		}
	}
	if e.System, err = lines.Find(ctx, c.Bucket, f.Run, max(g.Epoch, f.Accepted.Epoch)); err != nil {
		return e, err
	}
	_, end, err := runs.Run(f.Run).End().Must(ctx, c.Bucket)
	e.Evidence = &end

	return e, err
}

// Ended is how a firing ended.
type Ended struct {
	Firing  FiringID
	Outcome schedules.Outcome
}

// Conclusion records how a firing ended, and returns what is recorded.
func (c *Control) Conclusion(ctx context.Context, e Ended) (schedules.Outcome, error) {
	return do(ctx, e.Firing.log(c), func(ctx context.Context, _ say) (schedules.Outcome, error) {
		name := schedules.Schedule(e.Firing.Schedule)
		o, _, err := name.Outcome(e.Firing.ID).Record(ctx, c.Bucket, func() (schedules.Outcome, error) {
			return e.Outcome, nil
		})

		return o, err
	})
}
