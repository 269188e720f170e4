// Package schedules keeps schedules of re-training, and what became of their firings. A schedule is a log of versions,
// each written once; a firing keeps to the version with which it began.
package schedules

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/retrain"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/lines"
	"github.com/collabui/collabui/internal/store/runs"
)

// Schedule is a schedule by its name.
type Schedule string

// Version is a version of a schedule: its file, and who gave it.
type Version struct {
	Number   int              `json:"number"` // from 1
	Schedule retrain.Schedule `json:"schedule"`
	Who      string           `json:"who"`
	At       time.Time        `json:"at"`
}

// News is why the accepted system is trained again, or not.
type News string

// What a firing finds.
const (
	NewsNone        News = "nothing new"
	NewsTasks       News = "new tasks"
	NewsEnvironment News = "a new environment"
	NewsCheck       News = "a check for drift" // trained again only if the accepted system fell below its interval
)

// Firing is what a firing found. What it does follows from that.
type Firing struct {
	ID           string       `json:"id"`
	Version      int          `json:"version"` // of the schedule
	At           time.Time    `json:"at"`      // when it began
	News         News         `json:"news"`
	Why          string       `json:"why"`
	Run          string       `json:"run,omitempty"` // that trains again
	New          []string     `json:"new,omitempty"` // training templates that the accepted system was not made for
	Old          []string     `json:"old,omitempty"` // others that still exist
	Missed       int          `json:"missed"`        // firings of the schedule that were too late, until now
	MissedBefore int          `json:"missed_before"` // until the firing before
	Entries      int          `json:"entries"`       // of the line, until now
	Accepted     lines.System `json:"accepted"`
	Basis        lines.Basis  `json:"basis"`
}

// Wrote reports whether an entry of a line is the one with which the firing ended.
func (f Firing) Wrote(e lines.Entry) bool { return e.Basis != nil && *e.Basis == f.Basis }

// Outcome is how a firing ended.
type Outcome struct {
	ID    string    `json:"id"`
	At    time.Time `json:"at"`
	News  News      `json:"news"`
	Verb  string    `json:"verb"` // what happened: one of lines' verbs, or one of those below
	Why   string    `json:"why"`
	Run   string    `json:"run,omitempty"`
	Entry int       `json:"entry,omitempty"` // of the line
}

// Verbs of outcomes that left the line as it was.
const (
	VerbNone   = "none"
	VerbFailed = "failed" // for a reason that only a person can remove
)

// prefix is the folder of all schedules.
const prefix = "schedules/"

// Version is version n of a schedule.
func (s Schedule) Version(n int) runs.Object[Version] {
	return runs.Object[Version]{Key: fmt.Sprintf("%s%s/versions/%04d.json", prefix, s, n)}
}

// Firing is what a firing found.
func (s Schedule) Firing(id string) runs.Object[Firing] {
	return runs.Object[Firing]{Key: fmt.Sprintf("%s%s/firings/%s/found.json", prefix, s, id)}
}

// Outcome is how a firing ended.
func (s Schedule) Outcome(id string) runs.Object[Outcome] {
	return runs.Object[Outcome]{Key: fmt.Sprintf("%s%s/firings/%s/outcome.json", prefix, s, id)}
}

// Keys returns the keys of the objects of all schedules.
func Keys(ctx context.Context, b store.Bucket) ([]string, error) { return store.Keys(ctx, b, prefix) }

// Names returns the names of all schedules, in lexical order.
func Names(ctx context.Context, b store.Bucket) ([]string, error) {
	return b.Folders(ctx, prefix)
}

// Newest returns the newest version of a schedule. The error wraps store.ErrNotFound if there is none.
func (s Schedule) Newest(ctx context.Context, b store.Bucket) (Version, error) {
	v, exists, err := s.newest(ctx, b)
	if err == nil && !exists {
		err = fmt.Errorf("schedule %q: %w", string(s), store.ErrNotFound)
	}

	return v, err
}

func (s Schedule) newest(ctx context.Context, b store.Bucket) (v Version, exists bool, err error) {
	last, err := runs.Log[Version](s.Version).End(ctx, b, 0)
	if err != nil || last == 0 {
		return v, false, err
	}
	v, _, err = s.Version(last).Must(ctx, b)

	return v, err == nil, err
}

// Append records a version of a schedule, unless it is the newest one already. It is an invalid fault if somebody else
// does so at the same time.
func Append(ctx context.Context, b store.Bucket, v Version) (Version, error) {
	s := Schedule(v.Schedule.Name)
	last, exists, err := s.newest(ctx, b)
	if err != nil {
		return v, err
	}
	if exists && runs.Digest(last.Schedule) == runs.Digest(v.Schedule) {
		return last, nil
	}
	v.Number = last.Number + 1
	got, _, err := s.Version(v.Number).Record(ctx, b, func() (Version, error) { return v, nil })
	if err == nil && runs.Digest(got.Schedule) != runs.Digest(v.Schedule) {
		err = fault.New(fault.Invalid, "%s changes schedule %s at the same time; look at it and decide again",
			got.Who, s)
	}

	return got, err
}

// Outcomes returns how the firings of a schedule ended, oldest first.
func (s Schedule) Outcomes(ctx context.Context, b store.Bucket) (out []Outcome, err error) {
	err = s.Backward(ctx, b, func(o Outcome) bool {
		out = append(out, o)

		return true
	})
	slices.Reverse(out)

	return out, err
}

// Backward calls use with how the firings of a schedule ended, newest first, as long as it returns true. Outcomes that
// are not asked for are not read.
func (s Schedule) Backward(ctx context.Context, b store.Bucket, use func(Outcome) bool) error {
	objects, err := b.List(ctx, prefix+string(s)+"/firings/")
	if err != nil {
		return err
	}
	for _, o := range slices.Backward(objects) {
		if !strings.HasSuffix(o.Key, "/outcome.json") {
			continue
		}
		x, _, err := store.Must[Outcome](ctx, b, o.Key)
		if err != nil || !use(x) {
			return err
		}
	}

	return nil
}

// Before returns the newest firing that began before another one.
func (s Schedule) Before(ctx context.Context, b store.Bucket, id string) (f Firing, ok bool, err error) {
	folder := prefix + string(s) + "/firings/"
	objects, err := b.List(ctx, folder)
	if err != nil {
		return f, false, err
	}
	for _, o := range slices.Backward(objects) {
		name, rest, _ := strings.Cut(strings.TrimPrefix(o.Key, folder), "/")
		if rest == "found.json" && name < id {
			f, _, err = s.Firing(name).Must(ctx, b)

			return f, err == nil, err
		}
	}

	return f, false, nil
}
