package agents

import (
	"strings"
	"unicode/utf8"

	"github.com/collabui/collabui/domain"
)

// Limits bounds what pages, people and models may put into prompts. A longer text is cut and ends with an ellipsis. The
// zero value is SmallLimits.
type Limits struct {
	Element int `json:"element"` // characters of each text of an element
	History int `json:"history"` // number of the newest lines of the history
	Line    int `json:"line"`    // characters of a line of the history
	Goal    int `json:"goal"`    // characters
	Message int `json:"message"` // characters of an answer, the agent's own or a peer's
	Notes   int `json:"notes"`   // characters of the line of notes
	// Tokens is the number of tokens of a language model's prompt, estimated by EstimateTokens. A longer prompt is cut
	// by Template.Fit. 0 means that the number has no limit.
	Tokens int `json:"tokens"`
}

// SmallLimits are the limits of the embedded policy, which also reads only a limited number of tokens.
var SmallLimits = Limits{Element: 80, History: 12, Line: 160, Goal: 400, Message: 600, Notes: 160}

// ModelLimits are the limits of language models. They leave room for a whole note, a list or a mail. Tokens depends on
// the model.
var ModelLimits = Limits{Element: 2000, History: 100, Line: 1000, Goal: 8000, Message: 4000, Notes: 1000}

// Bounds on prompts that no specification changes.
const (
	maxID       = 2000 // characters of the ID of an element, which agents must repeat
	maxElements = 500  // number of elements
)

// OrSmall returns the limits, or SmallLimits for the zero value.
func (l Limits) OrSmall() Limits {
	if l == (Limits{}) {
		return SmallLimits
	}

	return l
}

// bytesPerToken is the number of bytes of a prompt per token that is assumed where a prompt must fit. Prompts about
// screens have more in the tokenizers of docs/results/tokens.md, so the estimate is rather too high.
const bytesPerToken = 3

// EstimateTokens returns the number of tokens of a text in language models, which is rarely higher.
func EstimateTokens(text string) int { return (len(text) + bytesPerToken - 1) / bytesPerToken }

// Lines returns the elements that agents see as text, one per line.
func (l Limits) Lines(observation domain.Observation) []string {
	var out []string
	for _, element := range observation.Elements {
		if element.Shown() {
			out = append(out, l.ElementLine(element))
		}
	}

	return out
}

// ElementLine returns an element as agents see it: its ID or, without one, its index, then role, text and state.
func (l Limits) ElementLine(element domain.Element) string { return l.seen(element).String() }

// overlong reports whether a text has more than limit characters in one line.
func overlong(text string, limit int) bool {
	return len(text) > limit && utf8.RuneCountInString(strings.Join(strings.Fields(text), " ")) > limit
}

// shortened counts the texts that a prompt shows only in part.
func (t *Template) shortened(view View, own string, peers []Message, left domain.LeftOut) int {
	count := 0
	add := func(limit int, texts ...string) {
		for _, text := range texts {
			if overlong(text, limit) {
				count++
			}
		}
	}
	add(t.limits.Goal, view.Goal)
	add(t.limits.Message, own)
	for _, message := range peers {
		add(t.limits.Message, message.Text)
	}
	for _, line := range t.recent(view)[left.History:] {
		add(t.limits.lineLimit(line), line)
	}
	for _, element := range t.included(view, left) {
		add(t.limits.Element, element.Role, element.Text, element.Desc, element.Value)
		add(4*t.limits.Element, strings.Join(element.State, " "))
		add(maxID, element.ID)
	}

	return count
}
