package openenv

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/collabui/collabui/domain"
)

// Profile is the name of the profile that suites of collabui speak.
const Profile = "collabui/1"

// Bounds of an observation.
const (
	maxElements    = 5000
	maxElementText = 2000 // bytes of each text of an element
	maxStates      = 16   // of an element
	maxRight       = 1000
)

// Observation is an observation in the profile.
type Observation struct {
	Goal      string           `json:"goal"`
	Elements  []domain.Element `json:"elements"`
	Screen    Screen           `json:"screen"`
	History   []string         `json:"history,omitempty"`
	HasHist   bool             `json:"recorded,omitempty"` // History replaces the client's own, even if it is empty
	MaxSteps  int              `json:"max_steps,omitempty"`
	Truncated bool             `json:"truncated,omitempty"`
	Error     *Error           `json:"last_action_error,omitempty"`
	Score     *float64         `json:"score,omitempty"`
	Success   *bool            `json:"success,omitempty"`
	Right     []domain.Action  `json:"right,omitempty"` // privileged; only if the reset requested it
	Info      Info             `json:"info"`

	// Metrics are present at the end of an episode of a recorded suite.
	Metrics map[string]domain.Metric `json:"metrics,omitempty"`
}

// Screen is the size of the screen, in the unit of the bounds.
type Screen struct {
	W int `json:"w"`
	H int `json:"h"`
}

// Info is additional information. Generation is the lease of the AndroidWorld companion.
type Info struct {
	Generation int      `json:"generation,omitempty"`
	Raw        *float64 `json:"raw,omitempty"`
}

// Seen returns the observation as agents of a family see it. Elements of a mobile suite are named by their indices
// alone.
func (o Observation) Seen(family domain.Family) domain.Observation {
	out := domain.Observation{Width: o.Screen.W, Height: o.Screen.H, Elements: slices.Clone(o.Elements)}
	if family == domain.FamilyMobile {
		for i := range out.Elements {
			out.Elements[i].ID = ""
		}
	}

	return out
}

// Checked returns the observation with its elements and texts cut to their bounds. It fails if the elements are not in
// the order of their indices.
func (o Observation) Checked() (Observation, error) {
	o.Elements = o.Elements[:min(len(o.Elements), maxElements)]

	last := -1
	for i := range o.Elements {
		element := &o.Elements[i]
		if element.Index <= last {
			return o, errors.New("the server's elements are not in the order of their indices")
		}
		last = element.Index

		element.State = slices.Clone(element.State[:min(len(element.State), maxStates)])
		texts := []*string{&element.Text, &element.Desc, &element.Value, &element.Role, &element.ID}
		for k := range element.State {
			texts = append(texts, &element.State[k])
		}
		for _, s := range texts {
			if len(*s) > maxElementText {
				*s = strings.ToValidUTF8((*s)[:maxElementText], "")
			}
		}
	}

	return o, nil
}

// checkRight checks the actions that help according to the server, because they become demonstrations and labels.
func (o Observation) checkRight(family domain.Family) error {
	if len(o.Right) > maxRight {
		return fmt.Errorf("right: %d actions, expected at most %d", len(o.Right), maxRight)
	}

	for _, action := range o.Right {
		if action.Type == domain.ActionNone { // the no-op belongs to both families
			continue
		}
		if err := action.Validate(); err != nil {
			return fmt.Errorf("right: %w", err)
		}
		if !action.InFamily(family) {
			return fmt.Errorf("right: expected %s actions, not %s", family, action.JSON())
		}
	}

	return nil
}

// answer is the data of an observation frame.
type answer struct {
	Observation json.RawMessage `json:"observation"`
	Reward      json.RawMessage `json:"reward"`
	Done        bool            `json:"done"`
}

// resetData is the data of a reset.
type resetData struct {
	Task     string `json:"task"`
	Split    string `json:"split"`
	Seed     uint64 `json:"seed"`
	MaxSteps int    `json:"max_steps"`
	Right    bool   `json:"right,omitempty"` // every observation shall list the actions that help
}

// stateData is the data of a state request for more than the Description.
type stateData struct {
	Image      string `json:"image,omitempty"`
	Generation int    `json:"generation,omitempty"`
}

// stateAnswer is the answer to a state request with stateData.
type stateAnswer struct {
	Image struct {
		Mime string `json:"mime"`
		B64  []byte `json:"b64"`
	} `json:"image"`
}
