package openenv

import (
	"context"
	"encoding/json"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
)

// Profile is the name of our profile.
const Profile = "collabui/1"

// Observation is what the profile agrees on.
type Observation struct {
	Goal      string           `json:"goal"`
	Elements  []domain.Element `json:"elements"`
	Screen    Screen           `json:"screen"`
	History   []string         `json:"history,omitempty"`
	HasHist   bool             `json:"recorded,omitempty"` // history stands for the client's own, even where it is empty
	MaxSteps  int              `json:"max_steps,omitempty"`
	Truncated bool             `json:"truncated,omitempty"`
	Error     *Error           `json:"last_action_error,omitempty"`
	Score     *float64         `json:"score,omitempty"`
	Success   *bool            `json:"success,omitempty"`
	Info      Info             `json:"info"`

	Metrics map[string]domain.Metric `json:"metrics,omitempty"` // with done, of recorded suites
}

// Screen is the size of the screen, in the unit of the bounds.
type Screen struct {
	W int `json:"w"`
	H int `json:"h"`
}

// Info is kept as information. Generation is the lease's, of the AndroidWorld companion.
type Info struct {
	Generation int      `json:"generation,omitempty"`
	Raw        *float64 `json:"raw,omitempty"`
}

// answer is the data of an observation frame.
type answer struct {
	Observation json.RawMessage `json:"observation"`
	Reward      json.RawMessage `json:"reward"`
	Done        bool            `json:"done"`
}

// Description is the data of a state frame of the profile.
type Description struct {
	Profile      string   `json:"profile"`
	Suite        string   `json:"suite"`
	Title        string   `json:"title"`
	Family       string   `json:"family"`
	Version      string   `json:"version,omitempty"`
	Recorded     string   `json:"recorded,omitempty"`
	Splits       []string `json:"splits"`
	Tasks        []Task   `json:"tasks"`
	Capabilities []string `json:"capabilities"`
}

// Task is a task that a server lists.
type Task struct {
	Name     string `json:"name"`
	Group    string `json:"group,omitempty"`
	Split    string `json:"split"`
	MaxSteps int    `json:"max_steps"`
}

// The capabilities.
const (
	CapScreenshot = "screenshot"
	CapReplayable = "replayable"
	CapExpert     = "expert"
	CapJudge      = "judge"
)

// ask is the data of a state request.
type ask struct {
	Image      string `json:"image,omitempty"`
	Right      bool   `json:"right,omitempty"`
	Generation int    `json:"generation,omitempty"`
}

// told is the answer to it.
type told struct {
	Image struct {
		Mime string `json:"mime"`
		B64  []byte `json:"b64"`
	} `json:"image"`
	Right []domain.Action `json:"right"`
}

// Describe is what a server says of a suite.
func Describe(s envadapters.Suite) (Description, error) {
	d := Description{Profile: Profile, Suite: s.Name(), Title: s.Title(), Family: string(s.Family()), Recorded: envadapters.ProtocolOf(s), Splits: s.Splits(), Capabilities: []string{}}
	for _, split := range d.Splits {
		ts, err := s.Templates(split)
		if err != nil {
			return d, err
		}
		for _, t := range ts {
			d.Tasks = append(d.Tasks, Task{Name: t.Name, Group: t.Group, Split: split, MaxSteps: t.MaxSteps})
		}
	}
	if v, ok := s.(envadapters.Versioned); ok {
		var err error
		if d.Version, err = v.Version(context.Background()); err != nil {
			return d, err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	env, err := s.Open(ctx)
	if err != nil {
		return d, err
	}
	defer env.Close(ctx)
	if len(d.Tasks) > 0 { // whether an episode can be replayed is known behind a reset
		t := d.Tasks[0]
		if _, err := env.Reset(ctx, domain.Task{Suite: d.Suite, Template: t.Name, Split: t.Split, Seed: 1, MaxSteps: t.MaxSteps}); err != nil {
			return d, err
		}
	}
	can := envadapters.Can(env)
	for _, c := range []struct {
		name string
		has  bool
	}{{CapReplayable, can.Replayable}, {CapExpert, can.Expert != nil}, {CapJudge, can.Judge != nil}, {CapScreenshot, can.Screenshotter != nil}} {
		if c.has {
			d.Capabilities = append(d.Capabilities, c.name)
		}
	}
	return d, nil
}
