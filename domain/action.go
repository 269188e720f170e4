// Package domain holds the terms of the method that every other package shares: tasks, observations, actions, systems, episodes and preference pairs.
// It is public so that environments and trainers can be written outside this module. It must import nothing of this module, do no I/O and read no clock.
package domain

import (
	"bytes"
	"encoding/json"
	"errors"
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

// Action is one structured command of a family. Fields that the type does not use are empty. Index is an element's Index in the observation, never a position;
// Element is an element's ID. In JSON the type stands under "action_type" in the mobile family and under "action" in the web family.
type Action struct {
	Family     Family // empty: mobile
	Type       string
	Index      *int
	Text       string // to type, or a mobile answer
	Direction  string
	AppName    string
	GoalStatus string
	Element    string
	Option     string
	PressEnter bool
	URL        string
	NewTab     bool
	Tab        int // from 1
	Message    string
	Answer     string
}

// Action types of the mobile family; click is one of both families, and ActionNone is the no-op of both.
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
	maxActionTextBytes = 4000
)

// Action types of the web family.
const (
	ActionHover      = "hover"
	ActionSelect     = "select"
	ActionTypeString = "type_string"
	ActionScrollPage = "scroll_page"
	ActionGo         = "go"
	ActionJumpTo     = "jump_to"
	ActionSwitchTab  = "switch_tab"
	ActionUserInput  = "user_input"
	ActionFinish     = "finish"
)

// actionFields says which fields each action of a family must have; "?" marks one that it may have.
var actionFields = map[Family]map[string][]string{
	FamilyMobile: {
		ActionStatus: {"goal_status"}, ActionAnswer: {"text"}, ActionClick: {"index"}, ActionDoubleTap: {"index"}, ActionLongPress: {"index"},
		ActionInputText: {"text", "index"}, ActionEnter: {}, ActionHome: {}, ActionBack: {}, ActionScroll: {"direction", "index?"},
		ActionSwipe: {"direction"}, ActionOpenApp: {"app_name"}, ActionWait: {},
	},
	FamilyWeb: {
		ActionClick: {"element"}, ActionHover: {"element"}, ActionSelect: {"element", "option"}, ActionTypeString: {"element", "text", "press_enter?"}, ActionScrollPage: {"direction"},
		ActionGo: {"direction"}, ActionJumpTo: {"url", "new_tab?"}, ActionSwitchTab: {"tab"}, ActionUserInput: {"message?"}, ActionFinish: {"answer?"}, ActionNone: {},
	},
}

// directions that an action takes, by its type.
var directions = map[string][]string{ActionScroll: {"up", "down", "left", "right"}, ActionSwipe: {"up", "down", "left", "right"}, ActionScrollPage: {"up", "down"}, ActionGo: {"forward", "backward"}}

// ParseAction reads one JSON object as an action of either family: "action_type" makes it a mobile one, "action" one of the web. Unknown types, unknown fields, missing
// fields and fields of another type are errors that say so.
func ParseAction(raw []byte) (Action, error) {
	var a Action
	if err := json.Unmarshal(raw, &a); err != nil {
		return Action{}, fmt.Errorf("action is not valid JSON: %w", err)
	}
	return a, a.Validate()
}

// InFamily tells whether the action is of a family.
func (a Action) InFamily(f Family) bool { return a.family() == f }

func (a Action) family() Family {
	if a.Family == "" {
		return FamilyMobile
	}
	return a.Family
}

// words are the fields of an action that hold text, in the order of its JSON.
func (a Action) words() [][2]string {
	return [][2]string{{"text", a.Text}, {"direction", a.Direction}, {"app_name", a.AppName}, {"goal_status", a.GoalStatus}, {"option", a.Option}, {"url", a.URL}, {"message", a.Message}, {"answer", a.Answer}}
}

// Words are the texts that an action carries: what it types, says, chooses, opens, and where it moves to.
func (a Action) Words() []string {
	var out []string
	for _, w := range a.words() {
		if w[1] != "" {
			out = append(out, w[1])
		}
	}
	return out
}

// Validate checks an action against its family.
func (a Action) Validate() error {
	fields, ok := actionFields[a.family()][a.Type]
	if !ok {
		return fmt.Errorf("unknown %s action %q", a.family(), a.Type)
	}
	has := [][2]any{{"index", a.Index != nil}, {"element", a.Element != ""}, {"press_enter", a.PressEnter}, {"new_tab", a.NewTab}, {"tab", a.Tab != 0}}
	for _, w := range a.words() {
		has = append(has, [2]any{w[0], w[1] != ""})
		if len(w[1]) > maxActionTextBytes {
			return fmt.Errorf("%s of %d bytes is longer than %d", w[0], len(w[1]), maxActionTextBytes)
		}
	}
	for _, h := range has {
		f, present := h[0].(string), h[1].(bool)
		switch {
		case slices.Contains(fields, f) && !present:
			return fmt.Errorf("action %q lacks %s", a.Type, f)
		case present && !slices.Contains(fields, f) && !slices.Contains(fields, f+"?"):
			return fmt.Errorf("action %q takes no %s", a.Type, f)
		}
	}
	if d := directions[a.Type]; d != nil && !slices.Contains(d, a.Direction) {
		return fmt.Errorf("direction %q is none of %s", a.Direction, strings.Join(d, ", "))
	}
	if a.GoalStatus != "" && a.GoalStatus != StatusComplete && a.GoalStatus != StatusInfeasible {
		return fmt.Errorf("goal_status %q is neither complete nor infeasible", a.GoalStatus)
	}
	if a.Tab < 0 {
		return fmt.Errorf("tab %d is below 1", a.Tab)
	}
	return nil
}

// Canonical is the form by which actions are compared and votes are counted: the type and all its fields, free text trimmed and case-folded,
// an element resolved to the one that takes the input. Two actions with equal canonical forms do the same on this observation.
func (a Action) Canonical(o Observation) string {
	parts := []string{a.Type}
	if a.Index != nil {
		i := *a.Index
		if e, ok := o.Element(i); ok && e.Target != nil {
			i = *e.Target
		}
		parts = append(parts, "index="+strconv.Itoa(i))
	}
	if a.Element != "" {
		id := a.Element
		if e, ok := o.ByID(id); ok && e.Target != nil {
			if t, ok := o.Element(*e.Target); ok {
				id = t.ID
			}
		}
		parts = append(parts, "element="+strconv.Quote(id))
	}
	for _, f := range a.words() {
		if f[1] != "" {
			parts = append(parts, f[0]+"="+strconv.Quote(strings.ToLower(strings.TrimSpace(f[1]))))
		}
	}
	for _, f := range [][2]any{{"press_enter", a.PressEnter}, {"new_tab", a.NewTab}} {
		if f[1].(bool) {
			parts = append(parts, f[0].(string))
		}
	}
	if a.Tab != 0 {
		parts = append(parts, "tab="+strconv.Itoa(a.Tab))
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
	b, _ := json.Marshal(a) // plain values cannot fail
	return string(b)
}

// actionJSON is an action's form in JSON.
type actionJSON struct {
	Mobile     string `json:"action_type,omitempty"`
	Web        string `json:"action,omitempty"`
	Index      *int   `json:"index,omitempty"`
	Element    string `json:"element,omitempty"`
	Text       string `json:"text,omitempty"`
	Direction  string `json:"direction,omitempty"`
	AppName    string `json:"app_name,omitempty"`
	GoalStatus string `json:"goal_status,omitempty"`
	Option     string `json:"option,omitempty"`
	PressEnter bool   `json:"press_enter,omitempty"`
	URL        string `json:"url,omitempty"`
	NewTab     bool   `json:"new_tab,omitempty"`
	Tab        int    `json:"tab,omitempty"`
	Message    string `json:"message,omitempty"`
	Answer     string `json:"answer,omitempty"`
}

// MarshalJSON writes the type under its family's key.
func (a Action) MarshalJSON() ([]byte, error) {
	w := actionJSON{a.Type, "", a.Index, a.Element, a.Text, a.Direction, a.AppName, a.GoalStatus, a.Option, a.PressEnter, a.URL, a.NewTab, a.Tab, a.Message, a.Answer}
	if a.InFamily(FamilyWeb) {
		w.Mobile, w.Web = "", a.Type
	}
	return json.Marshal(w)
}

// UnmarshalJSON takes the family from the key under which the type stands. Unknown fields are errors.
func (a *Action) UnmarshalJSON(raw []byte) error {
	var w actionJSON
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&w); err != nil {
		return err
	}
	if w.Mobile != "" && w.Web != "" {
		return errors.New(`both "action_type" and "action"`)
	}
	*a = Action{"", w.Mobile, w.Index, w.Text, w.Direction, w.AppName, w.GoalStatus, w.Element, w.Option, w.PressEnter, w.URL, w.NewTab, w.Tab, w.Message, w.Answer}
	if w.Web != "" {
		a.Family, a.Type = FamilyWeb, w.Web
	}
	return nil
}
