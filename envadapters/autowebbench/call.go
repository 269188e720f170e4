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

// keywords maps the published names of parameters to ours, if they differ.
var keywords = map[string]string{
	"element_id": "element",
	"content":    "text",
	"tab_index":  "tab",
}

// field returns a pointer to the field of an action that holds a parameter: *string, *bool or *int, or nil for an
// unknown parameter.
func field(a *domain.Action, param string) any {
	switch param {
	case "element":
		return &a.Element
	case "option":
		return &a.Option
	case "text":
		return &a.Text
	case "direction":
		return &a.Direction
	case "url":
		return &a.URL
	case "message":
		return &a.Message
	case "answer":
		return &a.Answer
	case "press_enter":
		return &a.PressEnter
	case "new_tab":
		return &a.NewTab
	case "tab":
		return &a.Tab
	}

	return nil
}

// set puts a value into a field. None leaves any field as it is.
func set(a *domain.Action, param string, v any) error {
	if v == nil {
		return nil
	}

	ok := false
	switch f := field(a, param).(type) {
	case *string:
		*f, ok = v.(string)
	case *bool:
		*f, ok = v.(bool)
	case *int:
		*f, ok = v.(int)
	}
	if !ok {
		return fmt.Errorf("%s cannot be %v", param, v)
	}

	return nil
}

// callText writes a command as people read it.
func callText(a domain.Action) string {
	var args []string
	for _, param := range params[a.Type] {
		switch f := field(&a, param).(type) {
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

	return a.Type + "(" + strings.Join(args, ", ") + ")"
}

// startsCall reports whether s begins with a known command.
func startsCall(s string) bool {
	name, _, ok := strings.Cut(s, "(")

	return ok && params[name] != nil
}

// parseCall reads a command at the start of s and returns the text after it. Strings may hold raw line breaks.
func parseCall(s string) (a domain.Action, rest string, err error) {
	open := strings.IndexByte(s, '(')
	if open < 0 {
		return a, "", fmt.Errorf("expected a command such as click('A'), not %.40q", s)
	}
	name := strings.TrimSpace(s[:open])
	names, ok := params[name]
	if !ok {
		return a, "", fmt.Errorf("unknown command %.40q", name)
	}

	a = domain.Action{Family: domain.FamilyWeb, Type: name}
	p := parser{s: s, at: open + 1}
	for i := 0; ; i++ {
		closed, err := p.separator(i == 0)
		if err != nil {
			return a, "", err
		}
		if closed {
			return a, p.rest(), a.Validate()
		}
		if i >= len(names) {
			return a, "", fmt.Errorf("%s takes %d arguments", name, len(names))
		}
		if err := p.argument(&a, names[i]); err != nil {
			return a, "", fmt.Errorf("%s, argument %d: %w", name, i+1, err)
		}
	}
}
