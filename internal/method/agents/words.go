package agents

import (
	"fmt"
	"strings"

	"github.com/collabui/collabui/domain"
)

// ActionInWords describes an action for people. It names the role and the text of the action's element instead of its
// index. An act of speech begins with its verb: see Verb.
func ActionInWords(action domain.Action, observation domain.Observation) string {
	words := []string{action.Type}
	if verb := Verb(action); verb != "" {
		words[0] = verb
	}
	if element, ok := action.Named(observation); ok {
		words = append(words, element.Role)
		if element.Text != "" {
			words = append(words, fmt.Sprintf("%q", element.Text))
		}
	}

	if action.Type == domain.ActionTell {
		return fmt.Sprintf("%s %q", words[0], strings.Join(action.Words(), " "))
	}

	return strings.Join(append(words, action.Words()...), " ")
}

// Verb returns what an agent does by an act of speech: "tells", "points at" or "passes". It is empty for actions.
func Verb(action domain.Action) string {
	switch action.Type {
	case domain.ActionTell:
		return "tells"
	case domain.ActionPoint:
		return "points at"
	case domain.ActionPass:
		return "passes"
	}

	return ""
}

// CellInWords describes a cell's action for people. It returns "" if the agent was not queried.
func CellInWords(cell domain.Cell, observation domain.Observation) string {
	switch {
	case cell.Prompt == "":
		return ""
	case cell.Refused != "":
		return "(refused)"
	case cell.Action == nil:
		return "(no action)"
	}

	return ActionInWords(*cell.Action, observation)
}
