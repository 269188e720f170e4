// Package schedules keeps schedules of re-training, and the outcomes of their firings. A schedule is a log of versions,
// each written once; a firing uses the version with which it began.
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

// Schedule is a schedule, identified by its name.
type Schedule string

// Version is a version of a schedule: its file, and the person who submitted it.
type Version struct {
	Number   int              `json:"number"` // from 1
	Schedule retrain.Schedule `json:"schedule"`
	Who      string           `json:"who"`
	At       time.Time        `json:"at"`
}

// News is the reason why the accepted system is trained again, or is not.
type News string

// Findings of a firing.
const (
	NewsNone        News = "nothing new"
	NewsTasks       News = "new tasks"
	NewsEnvironment News = "a new environment"
	NewsCheck       News = "a check for drift" // trained again only if the accepted system fell below its interval
)

// Firing is what a firing found, which determines what it does.
type Firing struct {
	ID           string       `json:"id"`
	Version      int          `json:"version"` // of the schedule
	At           time.Time    `json:"at"`      // when it began
	News         News         `json:"news"`
	Why          string       `json:"why"`
	Run          string       `json:"run,omitempty"` // the run that trains again
	New          []string     `json:"new,omitempty"` // training templates for which the accepted system was not made
	Old          []string     `json:"old,omitempty"` // others that still exist
	Missed       int          `json:"missed"`        // firings of the schedule that were too late, so far
	MissedBefore int          `json:"missed_before"` // the same at the previous firing
	Entries      int          `json:"entries"`       // of the line, so far
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
	Verb  string    `json:"verb"` // what happened: a verb of lines, or one of the verbs below
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

// Version returns version n of a schedule.
func (s Schedule) Version(n int) runs.Object[Version] {
	return runs.Object[Version]{Key: fmt.Sprintf("%s%s/versions/%04d.json", prefix, s, n)}
}

// Firing returns the findings of a firing.
func (s Schedule) Firing(id string) runs.Object[Firing] {
	return runs.Object[Firing]{Key: fmt.Sprintf("%s%s/firings/%s/found.json", prefix, s, id)}
}

// Outcome returns the outcome of a firing.
func (s Schedule) Outcome(id string) runs.Object[Outcome] {
	return runs.Object[Outcome]{Key: fmt.Sprintf("%s%s/firings/%s/outcome.json", prefix, s, id)}
}

// Keys returns the keys of the objects of all schedules.
func Keys(ctx context.Context, b store.Bucket) ([]string, error) { return store.Keys(ctx, b, prefix) }

// Names returns the names of all schedules, in lexical order.
func Names(ctx context.Context, b store.Bucket) ([]string, error) {
	return b.Folders(ctx, prefix)
}

// Newest returns the newest version of a schedule. The error wraps store.ErrNotFound if there is no version.
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

// Append records a version of a schedule, unless it already is the newest one. It returns an invalid fault if someone
// else appends at the same time.
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

// Outcomes returns the outcomes of a schedule's firings, oldest first.
func (s Schedule) Outcomes(ctx context.Context, b store.Bucket) (out []Outcome, err error) {
	err = s.Backward(ctx, b, func(o Outcome) bool {
		out = append(out, o)

		return true
	})
	slices.Reverse(out)

	return out, err
}

// Backward calls use with the outcomes of a schedule's firings, newest first, as long as use returns true. It does not
// read further outcomes.
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

// Before returns the newest firing that began before the given one.
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
