// Package domain holds the terms of the method that every other package shares: tasks, observations, actions, systems, episodes and preference pairs.
// It is public so that environments and trainers can be written outside this module. It must import nothing of this module, do no I/O and read no clock.
package domain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Family is an action family: the set of action types and fields that a suite understands.
type Family string

// FamilyMobile is the AndroidWorld action space (METHOD.md section 5).
const FamilyMobile Family = "mobile"

// FamilyWeb is the action space of the web suites (METHOD.md section 5).
const FamilyWeb Family = "web"

// Action is one structured command. Fields that the type does not use are empty. Index is an element's Index in the observation, never a position.
type Action struct {
	Type       string `json:"action_type"`
	Index      *int   `json:"index,omitempty"`
	Text       string `json:"text,omitempty"`
	Direction  string `json:"direction,omitempty"`
	AppName    string `json:"app_name,omitempty"`
	GoalStatus string `json:"goal_status,omitempty"`
}

// Action types of the mobile family; ActionNone is the no-op of every family.
const (
	ActionStatus       = "status"
	ActionAnswer       = "answer"
	ActionClick        = "click"
	ActionDoubleTap    = "double_tap"
	ActionLongPress    = "long_press"
	ActionInputText    = "input_text"
	ActionEnter        = "keyboard_enter"
	ActionHome         = "navigate_home"
	ActionBack         = "navigate_back"
	ActionScroll       = "scroll"
	ActionSwipe        = "swipe"
	ActionOpenApp      = "open_app"
	ActionWait         = "wait"
	ActionNone         = "none"
	StatusComplete     = "complete"
	StatusInfeasible   = "infeasible"
	maxActionTextBytes = 2000
)

// actionFields says which fields each mobile action must have; "?" marks one that it may have.
var actionFields = map[string][]string{
	ActionStatus: {"goal_status"}, ActionAnswer: {"text"}, ActionClick: {"index"}, ActionDoubleTap: {"index"}, ActionLongPress: {"index"},
	ActionInputText: {"text", "index"}, ActionEnter: {}, ActionHome: {}, ActionBack: {}, ActionScroll: {"direction", "index?"},
	ActionSwipe: {"direction"}, ActionOpenApp: {"app_name"}, ActionWait: {},
}

// ParseAction reads one JSON object as a mobile action. Unknown types, unknown fields, missing fields and fields of another type are errors that say so.
func ParseAction(raw []byte) (Action, error) {
	var a Action
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&a); err != nil {
		return Action{}, fmt.Errorf("action is not valid JSON for the mobile family: %w", err)
	}
	return a, a.Validate()
}

// Validate checks an action against the mobile family.
func (a Action) Validate() error {
	fields, ok := actionFields[a.Type]
	if !ok {
		return fmt.Errorf("unknown action_type %q", a.Type)
	}
	has := map[string]bool{"index": a.Index != nil, "text": a.Text != "", "direction": a.Direction != "", "app_name": a.AppName != "", "goal_status": a.GoalStatus != ""}
	for _, f := range []string{"index", "text", "direction", "app_name", "goal_status"} {
		switch {
		case slices.Contains(fields, f) && !has[f]:
			return fmt.Errorf("action %q lacks %s", a.Type, f)
		case has[f] && !slices.Contains(fields, f) && !slices.Contains(fields, f+"?"):
			return fmt.Errorf("action %q takes no %s", a.Type, f)
		}
	}
	if a.Direction != "" && !slices.Contains([]string{"up", "down", "left", "right"}, a.Direction) {
		return fmt.Errorf("direction %q is none of up, down, left, right", a.Direction)
	}
	if a.GoalStatus != "" && a.GoalStatus != StatusComplete && a.GoalStatus != StatusInfeasible {
		return fmt.Errorf("goal_status %q is neither complete nor infeasible", a.GoalStatus)
	}
	if len(a.Text) > maxActionTextBytes {
		return fmt.Errorf("text of %d bytes is longer than %d", len(a.Text), maxActionTextBytes)
	}
	return nil
}

// Canonical is the form by which actions are compared and votes are counted: the type and all its fields, free text trimmed and case-folded,
// an index resolved to the element that takes the input. Two actions with equal canonical forms do the same on this observation.
func (a Action) Canonical(o Observation) string {
	parts := []string{a.Type}
	if a.Index != nil {
		i := *a.Index
		if e, ok := o.Element(i); ok && e.Target != nil {
			i = *e.Target
		}
		parts = append(parts, "index="+strconv.Itoa(i))
	}
	for _, f := range [][2]string{{"text", a.Text}, {"direction", a.Direction}, {"app_name", a.AppName}, {"goal_status", a.GoalStatus}} {
		if f[1] != "" {
			parts = append(parts, f[0]+"="+strconv.Quote(strings.ToLower(strings.TrimSpace(f[1]))))
		}
	}
	return strings.Join(parts, " ")
}

// At gives a copy with an index: a convenience for literals.
func (a Action) At(index int) Action {
	a.Index = &index
	return a
}

// JSON is the action as agents write it.
func (a Action) JSON() string {
	b, _ := json.Marshal(a) // strings and an int cannot fail
	return string(b)
}
