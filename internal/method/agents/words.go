package agents

import (
	"fmt"
	"strings"

	"github.com/collabui/collabui/domain"
)

// ActionInWords describes an action for people. It names the role and the text of the action's element instead of its
// index.
func ActionInWords(action domain.Action, observation domain.Observation) string {
	words := []string{action.Type}
	if element, ok := action.Named(observation); ok {
		words = append(words, element.Role)
		if element.Text != "" {
			words = append(words, fmt.Sprintf("%q", element.Text))
		}
	}

	return strings.Join(append(words, action.Words()...), " ")
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
