// Package retrain implements the rules of scheduled re-training: the contents of a schedule, and the gate that decides
// whether a re-trained system replaces the accepted one. Its functions are pure.
//
// It does no I/O.
package retrain

import (
	"maps"
	"slices"
	"time"

	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/internal/method/spec"
)

// Schedule specifies when the accepted system of a line is re-trained, on what, and when the result is accepted.
type Schedule struct {
	Name string `json:"name"`
	Line string `json:"line"`

	// Environment is the environment to watch and to train on: a suite, or a name under Environments.
	Environment  string                         `json:"environment"`
	Environments map[string]envadapters.Options `json:"environments,omitempty"`

	When     When         `json:"when"`
	Train    Train        `json:"train"`
	Drift    Drift        `json:"drift"`
	Gate     GateSettings `json:"gate"`
	Approval Approval     `json:"approval"`
}

// When specifies the times at which a schedule fires, which are the union of Cron and Every. Durations are texts such
// as 90m.
type When struct {
	Cron     []string `json:"cron,omitempty"`
	Every    string   `json:"every,omitempty"`
	TimeZone string   `json:"time_zone"` // IANA name
	Jitter   string   `json:"jitter"`    // maximum random delay

	Overlap Overlap `json:"overlap"`
	// CatchUp is how late a firing may be after an outage. Firings that would be later are missed.
	CatchUp string `json:"catch_up"`
}

// Overlap specifies what happens to a firing while the previous one is still running.
type Overlap string

// Values of Overlap.
const (
	OverlapSkip      Overlap = "skip"       // the firing is skipped
	OverlapBufferOne Overlap = "buffer-one" // the firing waits for the previous one; only one firing may wait
	OverlapBufferAll Overlap = "buffer-all" // the firing waits for all previous ones
)

// Train specifies how the accepted system is re-trained.
type Train struct {
	Epochs int `json:"epochs"`
	// Replay is the share of slots that play old tasks, from 0 to 1.
	Replay float64 `json:"replay"`
	// Set overrides values of the accepted run's specification, by key.
	Set map[string]string `json:"set,omitempty"`
}

// Drift specifies how the accepted system is checked if the tasks have not changed. An environment whose version has
// changed is always checked.
type Drift struct {
	// Always checks the environment at every firing, even if its version has not changed. The check costs model calls.
	Always   bool `json:"always"`
	Episodes int  `json:"episodes"`
}

// GateSettings specifies when a re-trained system is accepted. Differences are differences of success rates, from 0 to
// 1.
type GateSettings struct {
	Episodes int `json:"episodes"` // number that both systems play, of new tasks and of old tasks each
	// Margin is the value that the lower bound of the difference on new tasks must exceed.
	Margin float64 `json:"margin"`
	// Tolerance is the acceptable loss on old tasks: the lower bound of their difference must exceed −Tolerance.
	Tolerance float64 `json:"tolerance"`
	// Cost is the maximum ratio of tokens per episode, new to old. 0 turns this condition off.
	Cost float64 `json:"cost"`
}

// Approval specifies whether a person must approve what the gate accepts.
type Approval struct {
	Within string `json:"within"` // time after which the result is rejected; if empty, the gate decides alone
}

// Default returns a schedule with the defaults.
func Default() Schedule {
	return Schedule{
		When: When{TimeZone: "UTC", Jitter: "0s", Overlap: OverlapSkip},
		Train: Train{
			Epochs: 2, Replay: 0.3,
		},
		Drift: Drift{Episodes: 100},
		Gate:  GateSettings{Episodes: 100, Margin: 0, Tolerance: 0.1, Cost: 1.5},
	}
}

// maxName leaves room for the time of a firing in the names of runs.
const maxName = 40 - len("-20061231-235959")

// Parse decodes the file of a schedule over the defaults. The error lists all mistakes with their places.
func Parse(src spec.Source, raw []byte, catalog spec.Catalog) (Schedule, error) {
	schedule := Default()
	err := spec.Decode(src, raw, &schedule, func(must spec.Must) { schedule.check(catalog, must) })
	spec.Absolute(schedule.Environments, src.Dir)

	return schedule, err
}

// check reports impossible values.
func (s Schedule) check(catalog spec.Catalog, must spec.Must) {
	must.Name(s.Name, "name")
	must.Name(s.Line, "line")
	must(len(s.Name) <= maxName, "name", "at most %d characters, as runs are named after it", maxName)
	spec.CheckEnvironments(s.Environments, catalog, must)
	_, listed := s.Environments[s.Environment]
	known := append(catalog.EnvironmentNames(), slices.Sorted(maps.Keys(s.Environments))...)
	must(listed || slices.Contains(known, s.Environment), "environment", "one of %s, not %q",
		spec.List(known), s.Environment)

	s.When.check(must)
	must(s.Train.Epochs >= 1, "train.epochs", "a whole number from 1")
	share(must, s.Train.Replay, "train.replay")
	for _, key := range []string{"environment", "environments", "epochs", "focus"} {
		_, isSet := s.Train.Set[key]
		must(!isSet, "train.set."+key, "other keys: the schedule sets this one itself")
	}
	must(s.Drift.Episodes >= 20, "drift.episodes", "a whole number from 20")
	must(s.Gate.Episodes >= 20, "gate.episodes", "a whole number from 20: fewer show no difference")
	share(must, s.Gate.Margin, "gate.margin")
	share(must, s.Gate.Tolerance, "gate.tolerance")
	must(s.Gate.Cost >= 0, "gate.cost", "a ratio such as 1.5, or 0")
	duration(must, s.Approval.Within, "approval.within", true)
}

func (w When) check(must spec.Must) {
	must(len(w.Cron) > 0 || w.Every != "", "when", "cron or every")
	duration(must, w.Every, "when.every", true)
	duration(must, w.Jitter, "when.jitter", false)
	must(w.CatchUp != "", "when.catch_up", "how late a firing may be after an outage, such as 1h")
	duration(must, w.CatchUp, "when.catch_up", true)
	late := Duration(w.CatchUp)
	must(late == 0 || late >= 10*time.Second, "when.catch_up", "at least 10s, as Temporal has it")
	_, err := time.LoadLocation(w.TimeZone)
	must(err == nil && w.TimeZone != "", "when.time_zone",
		"an IANA time zone such as Europe/Berlin, not %q", w.TimeZone)
	all := []Overlap{OverlapSkip, OverlapBufferOne, OverlapBufferAll}
	must(slices.Contains(all, w.Overlap), "when.overlap", "one of %s, not %q", spec.List(all), w.Overlap)
}

func share(must spec.Must, v float64, field string) {
	must(v >= 0 && v <= 1, field, "a number from 0 to 1, not %v", v)
}

func duration(must spec.Must, text, field string, optional bool) {
	d, err := time.ParseDuration(text)
	must(optional && text == "" || err == nil && d >= 0, field, "a duration such as 90m, not %q", text)
}

// Duration returns a duration of a schedule that has been checked. An empty text is 0.
func Duration(text string) time.Duration {
	d, _ := time.ParseDuration(text)

	return d
}

// Where returns the options of the environment to watch.
func (s Schedule) Where() envadapters.Options {
	return spec.Spec{Environments: s.Environments}.Where(s.Environment)
}
