package domain

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// maxActionText bounds each text of an action, in bytes.
const maxActionText = 4000

// signatures lists the fields of each action type under their names in the JSON form. An action must have all of them,
// except those that end in "?", and no others.
var signatures = map[Family]map[string][]string{
	FamilyMobile: {
		ActionStatus:    {"goal_status"},
		ActionAnswer:    {"text"},
		ActionClick:     {"index"},
		ActionDoubleTap: {"index"},
		ActionLongPress: {"index"},
		ActionInputText: {"text", "index"},
		ActionEnter:     {},
		ActionHome:      {},
		ActionBack:      {},
		ActionScroll:    {"direction", "index?"},
		ActionSwipe:     {"direction"},
		ActionOpenApp:   {"app_name"},
		ActionWait:      {},
	},
	FamilyWeb: {
		ActionClick:      {"element"},
		ActionHover:      {"element"},
		ActionSelect:     {"element", "option"},
		ActionTypeString: {"element", "text", "press_enter?"},
		ActionScrollPage: {"direction"},
		ActionGo:         {"direction"},
		ActionJumpTo:     {"url", "new_tab?"},
		ActionSwitchTab:  {"tab"},
		ActionUserInput:  {"message?"},
		ActionFinish:     {"answer?"},
		ActionNone:       {},
	},
}

// speech lists the fields of the acts of speech as signatures does for actions.
var speech = map[Family]map[string][]string{
	FamilyMobile: {ActionTell: {"text"}, ActionPoint: {"index"}, ActionPass: {}},
	FamilyWeb:    {ActionTell: {"text"}, ActionPoint: {"element"}, ActionPass: {}},
}

// ActionTypes returns the action types of a family, sorted. Acts of speech are not among them, because environments do
// not execute them.
func ActionTypes(f Family) []string { return slices.Sorted(maps.Keys(signatures[f])) }

// Samples returns a valid action of every type of a family, with all its fields.
func Samples(family Family) []Action { return samples(family, signatures[family]) }

// SpeechSamples returns every act of speech of a family, with all its fields.
func SpeechSamples(family Family) []Action { return samples(family, speech[family]) }

func samples(family Family, signatures map[string][]string) []Action {
	var out []Action
	for _, kind := range slices.Sorted(maps.Keys(signatures)) {
		action := Action{Family: family, Type: kind}
		for _, field := range signatures[kind] {
			switch strings.TrimSuffix(field, "?") {
			case "index":
				action = action.At(0)
			case "element":
				action.Element = "A"
			case "text":
				action.Text = "text"
			case "direction":
				action.Direction = directions[kind][0]
			case "app_name":
				action.AppName = "Clock"
			case "goal_status":
				action.GoalStatus = StatusComplete
			case "option":
				action.Option = "first"
			case "press_enter":
				action.PressEnter = true
			case "url":
				action.URL = "http://localhost/"
			case "new_tab":
				action.NewTab = true
			case "tab":
				action.Tab = 1
			case "message":
				action.Message = "message"
			case "answer":
				action.Answer = "answer"
			}
		}
		out = append(out, action)
	}

	return out
}

// directions lists the directions that an action type takes.
var directions = map[string][]string{
	ActionScroll:     {"up", "down", "left", "right"},
	ActionSwipe:      {"up", "down", "left", "right"},
	ActionScrollPage: {"up", "down"},
	ActionGo:         {"forward", "backward"},
}

// presence is a field of an action, under its name in the JSON form, and whether the action has it.
type presence struct {
	field string
	given bool
}

// fields lists all fields except the type, in the order in which Validate reports them.
func (a Action) fields() []presence {
	out := []presence{
		{"index", a.Index != nil},
		{"element", a.Element != ""},
		{"press_enter", a.PressEnter},
		{"new_tab", a.NewTab},
		{"tab", a.Tab != 0},
	}
	for _, t := range a.texts() {
		out = append(out, presence{t.field, t.value != ""})
	}

	return out
}

// Validate checks that the family has the type, that the fields belong to the type, and that their values are
// allowed. It returns the first problem.
func (a Action) Validate() error {
	signature, ok := signatures[a.family()][a.Type]
	if a.Speech() {
		signature, ok = speech[a.family()][a.Type]
	}
	if !ok {
		return fmt.Errorf("unknown %s action %q", a.family(), a.Type)
	}

	for _, entry := range a.texts() {
		if len(entry.value) > maxActionText {
			return fmt.Errorf("%s of %d bytes is longer than %d", entry.field, len(entry.value), maxActionText)
		}
	}
	for _, field := range a.fields() {
		required := slices.Contains(signature, field.field)
		switch {
		case required && !field.given:
			return fmt.Errorf("action %q lacks %s", a.Type, field.field)
		case field.given && !required && !slices.Contains(signature, field.field+"?"):
			return fmt.Errorf("action %q takes no %s", a.Type, field.field)
		}
	}

	return a.validateValues()
}

func (a Action) validateValues() error {
	if allowed := directions[a.Type]; allowed != nil && !slices.Contains(allowed, a.Direction) {
		return fmt.Errorf("direction %q is none of %s", a.Direction, strings.Join(allowed, ", "))
	}
	if a.GoalStatus != "" && a.GoalStatus != StatusComplete && a.GoalStatus != StatusInfeasible {
		return fmt.Errorf("goal_status %q is neither complete nor infeasible", a.GoalStatus)
	}
	if a.Tab < 0 {
		return fmt.Errorf("tab %d is below 1", a.Tab)
	}

	return nil
}
