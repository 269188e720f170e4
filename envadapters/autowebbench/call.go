package autowebbench

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/collabui/collabui/domain"
)

// A command is a Python call such as type_string('A', 'text', False). This package parses it and never evaluates it.
// The arguments are strings, whole numbers, True, False and None.

// params are the parameters of each command in their order.
var params = map[string][]string{
	domain.ActionClick:      {"element"},
	domain.ActionHover:      {"element"},
	domain.ActionSelect:     {"element", "option"},
	domain.ActionTypeString: {"element", "text", "press_enter"},
	domain.ActionScrollPage: {"direction"},
	domain.ActionGo:         {"direction"},
	domain.ActionJumpTo:     {"url", "new_tab"},
	domain.ActionSwitchTab:  {"tab"},
	domain.ActionUserInput:  {"message"},
	domain.ActionFinish:     {"answer"},
}

// keywords maps the published names of parameters to ours where they differ.
var keywords = map[string]string{
	"element_id": "element",
	"content":    "text",
	"tab_index":  "tab",
}

// field returns a pointer to the field of an action that holds a parameter: *string, *bool or *int, or nil for an
// unknown parameter.
func field(action *domain.Action, param string) any {
	switch param {
	case "element":
		return &action.Element
	case "option":
		return &action.Option
	case "text":
		return &action.Text
	case "direction":
		return &action.Direction
	case "url":
		return &action.URL
	case "message":
		return &action.Message
	case "answer":
		return &action.Answer
	case "press_enter":
		return &action.PressEnter
	case "new_tab":
		return &action.NewTab
	case "tab":
		return &action.Tab
	}

	return nil
}

// set stores a value in a field. None leaves the field unchanged.
func set(action *domain.Action, param string, value any) error {
	if value == nil {
		return nil
	}

	ok := false
	switch f := field(action, param).(type) {
	case *string:
		*f, ok = value.(string)
	case *bool:
		*f, ok = value.(bool)
	case *int:
		*f, ok = value.(int)
	}
	if !ok {
		return fmt.Errorf("%s cannot be %v", param, value)
	}

	return nil
}

// callText formats a command for people.
func callText(action domain.Action) string {
	var args []string
	for _, param := range params[action.Type] {
		switch f := field(&action, param).(type) {
		case *string:
			if *f != "" {
				args = append(args, strconv.Quote(*f))
			}
		case *bool:
			args = append(args, strconv.FormatBool(*f))
		case *int:
			args = append(args, strconv.Itoa(*f))
		}
	}

	return action.Type + "(" + strings.Join(args, ", ") + ")"
}

// startsCall reports whether text begins with a known command.
func startsCall(text string) bool {
	name, _, ok := strings.Cut(text, "(")

	return ok && params[name] != nil
}

// parseCall reads a command at the start of text and returns the text after it. Strings may hold raw line breaks.
func parseCall(text string) (action domain.Action, rest string, err error) {
	open := strings.IndexByte(text, '(')
	if open < 0 {
		return action, "", fmt.Errorf("expected a command such as click('A'), not %.40q", text)
	}
	name := strings.TrimSpace(text[:open])
	names, ok := params[name]
	if !ok {
		return action, "", fmt.Errorf("unknown command %.40q", name)
	}

	action = domain.Action{Family: domain.FamilyWeb, Type: name}
	p := parser{s: text, at: open + 1}
	for i := 0; ; i++ {
		closed, err := p.separator(i == 0)
		if err != nil {
			return action, "", err
		}
		if closed {
			return action, p.rest(), action.Validate()
		}
		if i >= len(names) {
			return action, "", fmt.Errorf("%s takes %d arguments", name, len(names))
		}
		if err := p.argument(&action, names[i]); err != nil {
			return action, "", fmt.Errorf("%s, argument %d: %w", name, i+1, err)
		}
	}
}
