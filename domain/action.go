package domain

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Family is an action family: the set of action types and fields that a suite understands.
type Family string

// The action families (docs/method.md).
const (
	FamilyMobile Family = "mobile" // AndroidWorld's action space.
	FamilyWeb    Family = "web"    // The action space of the web suites.
)

// Action is one structured command of a family. Fields that its type does not use are empty. Validate reports whether
// the type and the fields go together.
//
// The fields are in the order of the JSON form, where the type is under "action_type" in the mobile family and under
// "action" in the web family.
type Action struct {
	// Family means FamilyMobile if it is empty.
	Family Family `json:"-"`
	Type   string `json:"-"`

	// Index is the Index of an element of the observation, never its position in the list. Mobile actions name elements
	// by it.
	Index *int `json:"index,omitempty"`
	// Element is the ID of an element. Web actions name elements by it.
	Element string `json:"element,omitempty"`

	// Text is what to type, or the answer of a mobile agent.
	Text       string `json:"text,omitempty"`
	Direction  string `json:"direction,omitempty"`
	AppName    string `json:"app_name,omitempty"`
	GoalStatus string `json:"goal_status,omitempty"`
	Option     string `json:"option,omitempty"`
	PressEnter bool   `json:"press_enter,omitempty"`
	URL        string `json:"url,omitempty"`
	NewTab     bool   `json:"new_tab,omitempty"`
	// Tab counts from 1.
	Tab     int    `json:"tab,omitempty"`
	Message string `json:"message,omitempty"`
	Answer  string `json:"answer,omitempty"`
}

// Action types of the mobile family. ActionClick belongs to both families, and ActionNone is the no-op of both.
const (
	ActionStatus    = "status"
	ActionAnswer    = "answer"
	ActionClick     = "click"
	ActionDoubleTap = "double_tap"
	ActionLongPress = "long_press"
	ActionInputText = "input_text"
	ActionEnter     = "keyboard_enter"
	ActionHome      = "navigate_home"
	ActionBack      = "navigate_back"
	ActionScroll    = "scroll"
	ActionSwipe     = "swipe"
	ActionOpenApp   = "open_app"
	ActionWait      = "wait"
	ActionNone      = "none"
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

// Acts of speech of both families. They tell peers something, are never executed, and never vote.
const (
	ActionTell  = "tell"  // says words
	ActionPoint = "point" // names an element
	ActionPass  = "pass"  // says that the agent cannot know
)

// Values of Action.GoalStatus.
const (
	StatusComplete   = "complete"
	StatusInfeasible = "infeasible"
)

// ParseAction reads one JSON object as an action of either family and validates it. Unknown types, unknown fields,
// missing fields and fields of the wrong type are errors.
func ParseAction(raw []byte) (Action, error) {
	var action Action
	if err := json.Unmarshal(raw, &action); err != nil {
		return Action{}, fmt.Errorf("action is not valid JSON: %w", err)
	}

	return action, action.Validate()
}

// At returns a copy of the action with the given Index.
func (a Action) At(index int) Action {
	a.Index = &index
	return a
}

// Speech reports whether the action is an act of speech.
func (a Action) Speech() bool {
	return a.Type == ActionTell || a.Type == ActionPoint || a.Type == ActionPass
}

// InFamily reports whether the action belongs to a family.
func (a Action) InFamily(family Family) bool { return a.family() == family }

func (a Action) family() Family {
	if a.Family == "" {
		return FamilyMobile
	}
	return a.Family
}

// Named returns the element of o that the action names, by its Index or its ID. It is false if the action names none,
// or one that o does not have.
func (a Action) Named(screen Observation) (Element, bool) {
	if a.Index != nil {
		return screen.Element(*a.Index)
	}
	return screen.ByID(a.Element)
}

// Words returns the texts of an action that are not empty: what it types, says, chooses and opens, and its direction.
func (a Action) Words() []string {
	var out []string
	for _, t := range a.texts() {
		if t.value != "" {
			out = append(out, t.value)
		}
	}
	return out
}

// text is a field of an action that holds text, under its name in the JSON form.
type text struct{ field, value string }

// texts lists the fields that hold text, in the order of the canonical form. Element is not among them: it names
// something of the observation.
func (a Action) texts() []text {
	return []text{
		{"text", a.Text},
		{"direction", a.Direction},
		{"app_name", a.AppName},
		{"goal_status", a.GoalStatus},
		{"option", a.Option},
		{"url", a.URL},
		{"message", a.Message},
		{"answer", a.Answer},
	}
}

// Canonical returns the form by which actions are compared and votes are counted: the type and all fields, with text
// trimmed and case-folded and the element replaced by the one that takes its input. Two actions with equal canonical
// forms do the same on this observation. Digests of runs depend on this form.
func (a Action) Canonical(screen Observation) string {
	parts := []string{a.Type}

	if a.Index != nil {
		index := *a.Index
		if element, ok := screen.Element(index); ok && element.Target != nil {
			index = *element.Target
		}
		parts = append(parts, "index="+strconv.Itoa(index))
	}
	if a.Element != "" {
		parts = append(parts, "element="+strconv.Quote(screen.receiver(a.Element)))
	}

	for _, part := range a.texts() {
		if part.value != "" {
			parts = append(parts, part.field+"="+strconv.Quote(strings.ToLower(strings.TrimSpace(part.value))))
		}
	}

	if a.PressEnter {
		parts = append(parts, "press_enter")
	}
	if a.NewTab {
		parts = append(parts, "new_tab")
	}
	if a.Tab != 0 {
		parts = append(parts, "tab="+strconv.Itoa(a.Tab))
	}

	return strings.Join(parts, " ")
}
