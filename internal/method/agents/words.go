package agents

import (
	"fmt"
	"strings"

	"github.com/collabui/collabui/domain"
)

// ActionInWords returns an action for people: with the role and the text of the element that it names, without an
// index.
func ActionInWords(a domain.Action, o domain.Observation) string {
	words := []string{a.Type}
	if e, ok := a.Named(o); ok {
		words = append(words, e.Role)
		if e.Text != "" {
			words = append(words, fmt.Sprintf("%q", e.Text))
		}
	}

	return strings.Join(append(words, a.Words()...), " ")
}

// CellInWords returns what a cell does, for people. It is empty if the agent was not asked.
func CellInWords(c domain.Cell, o domain.Observation) string {
	switch {
	case c.Prompt == "":
		return ""
	case c.Refused != "":
		return "(refused)"
	case c.Action == nil:
		return "(no action)"
	}

	return ActionInWords(*c.Action, o)
}
