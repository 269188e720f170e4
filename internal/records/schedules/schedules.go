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
	"github.com/collabui/collabui/internal/records/lines"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
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

// Firing contains the findings of a firing, which determine its actions.
type Firing struct {
	ID           string          `json:"id"`
	Version      int             `json:"version"` // of the schedule
	At           time.Time       `json:"at"`      // when it began
	News         News            `json:"news"`
	Why          string          `json:"why"`
	Run          string          `json:"run,omitempty"` // the run that trains again
	New          []string        `json:"new,omitempty"` // training templates for which the accepted system was not made
	Old          []string        `json:"old,omitempty"` // others that still exist
	Missed       int             `json:"missed"`        // firings of the schedule that were too late, so far
	MissedBefore int             `json:"missed_before"` // the same at the previous firing
	Entries      int             `json:"entries"`       // of the line, so far
	Accepted     lines.SystemRef `json:"accepted"`
	Basis        lines.Basis     `json:"basis"`
}

// Wrote reports whether an entry of a line is the one with which the firing ended.
func (f Firing) Wrote(entry lines.Entry) bool { return entry.Basis != nil && *entry.Basis == f.Basis }

// Outcome is how a firing ended.
type Outcome struct {
	ID    string    `json:"id"`
	At    time.Time `json:"at"`
	News  News      `json:"news"`
	Verb  string    `json:"verb"` // the result: a verb of lines, or one of the verbs below
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
func Keys(ctx context.Context, bucket store.Bucket) ([]string, error) {
	return store.Keys(ctx, bucket, prefix)
}

// Names returns the names of all schedules, in lexical order.
func Names(ctx context.Context, bucket store.Bucket) ([]string, error) {
	return bucket.Folders(ctx, prefix)
}

// Newest returns the newest version of a schedule. The error wraps store.ErrNotFound if there is no version.
func (s Schedule) Newest(ctx context.Context, bucket store.Bucket) (Version, error) {
	version, exists, err := s.newest(ctx, bucket)
	if err == nil && !exists {
		err = fmt.Errorf("schedule %q: %w", string(s), store.ErrNotFound)
	}

	return version, err
}

func (s Schedule) newest(ctx context.Context, bucket store.Bucket) (version Version, exists bool, err error) {
	last, err := runs.Log[Version](s.Version).End(ctx, bucket, 0)
	if err != nil || last == 0 {
		return version, false, err
	}
	version, _, err = s.Version(last).Must(ctx, bucket)

	return version, err == nil, err
}

// Append records a version of a schedule, unless it already is the newest one. It returns an invalid fault if someone
// else appends at the same time.
func Append(ctx context.Context, bucket store.Bucket, version Version) (Version, error) {
	schedule := Schedule(version.Schedule.Name)
	last, exists, err := schedule.newest(ctx, bucket)
	if err != nil {
		return version, err
	}
	if exists && runs.Digest(last.Schedule) == runs.Digest(version.Schedule) {
		return last, nil
	}
	version.Number = last.Number + 1
	got, _, err := schedule.Version(version.Number).Record(ctx, bucket, func() (Version, error) { return version, nil })
	if err == nil && runs.Digest(got.Schedule) != runs.Digest(version.Schedule) {
		err = fault.New(fault.Invalid, "%s changes schedule %s at the same time; look at it and decide again",
			got.Who, schedule)
	}

	return got, err
}

// Outcomes returns the outcomes of a schedule's firings, oldest first.
func (s Schedule) Outcomes(ctx context.Context, bucket store.Bucket) (out []Outcome, err error) {
	err = s.Backward(ctx, bucket, func(outcome Outcome) bool {
		out = append(out, outcome)

		return true
	})
	slices.Reverse(out)

	return out, err
}

// Backward calls use with the outcomes of a schedule's firings, newest first, as long as use returns true. It does not
// read further outcomes.
func (s Schedule) Backward(ctx context.Context, bucket store.Bucket, use func(Outcome) bool) error {
	objects, err := bucket.List(ctx, prefix+string(s)+"/firings/")
	if err != nil {
		return err
	}
	for _, ref := range slices.Backward(objects) {
		if !strings.HasSuffix(ref.Key, "/outcome.json") {
			continue
		}
		outcome, _, err := store.Must[Outcome](ctx, bucket, ref.Key)
		if err != nil || !use(outcome) {
			return err
		}
	}

	return nil
}

// Before returns the newest firing that began before the given one.
func (s Schedule) Before(ctx context.Context, bucket store.Bucket, id string) (firing Firing, ok bool, err error) {
	folder := prefix + string(s) + "/firings/"
	objects, err := bucket.List(ctx, folder)
	if err != nil {
		return firing, false, err
	}
	for _, ref := range slices.Backward(objects) {
		name, rest, _ := strings.Cut(strings.TrimPrefix(ref.Key, folder), "/")
		if rest == "found.json" && name < id {
			firing, _, err = s.Firing(name).Must(ctx, bucket)

			return firing, err == nil, err
		}
	}

	return firing, false, nil
}
