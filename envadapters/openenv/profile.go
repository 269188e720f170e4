package openenv

import (
	"encoding/json"

	"github.com/collabui/collabui/domain"
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
	Generation int     `json:"generation,omitempty"`
	Raw        float64 `json:"raw,omitempty"`
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
