package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
)

// Bounds on what documents have about messages.
const (
	maxMessageText = 4000 // characters of an answer
	maxListed      = 20   // messages of an episode in a list
	maxLine        = 160  // characters of a message in a list
)

// Message is an act of speech whose effect on the answers of its readers is known.
type Message struct {
	Agent   int             `json:"agent"`
	Round   int             `json:"round"`
	Verb    string          `json:"verb,omitempty"` // with which Words begin
	Words   string          `json:"words"`
	Text    string          `json:"text"`
	Label   *domain.Label   `json:"label,omitempty"`
	Summary string          `json:"summary"` // its effect in words
	Readers []MessageReader `json:"readers,omitempty"`
	Instead []Alternative   `json:"instead,omitempty"` // for a pass: the other answers that were tried

	size int // of the effect
}

// MessageReader is a reader of a message, with the recorded answer and the answer that it gave without the message.
type MessageReader struct {
	Agent   int          `json:"agent"`
	Round   int          `json:"round"`
	With    ReaderAnswer `json:"with"`
	Without ReaderAnswer `json:"without"`
}

// ReaderAnswer is an answer of a reader with its label.
type ReaderAnswer struct {
	Text    string       `json:"text"`
	Words   string       `json:"words"`
	Label   domain.Label `json:"label"`
	Verdict string       `json:"verdict"` // the label in words; an act of speech does not act
}

// Alternative is an answer that an agent could have given instead of passing. Readers have the recorded answer, and the
// answer that they gave to the alternative, as MessageReader.Without.
type Alternative struct {
	ReaderAnswer
	Readers []MessageReader `json:"readers,omitempty"`
}

// Messages returns the messages of a step, counted from 0, whose effects are known.
func (e Episode) Messages(step int) (out []Message) {
	if e.Credits == nil || step >= len(e.Credits.Steps) || step >= len(e.Steps) {
		return nil
	}
	cells := e.Steps[step].Decision.Cells
	for _, effect := range e.Credits.Steps[step].Effects {
		if effect.Cell < 0 || effect.Cell >= len(cells) {
			continue
		}
		cell := cells[effect.Cell]
		message := Message{
			Agent: cell.Agent, Round: cell.Round, Text: bounded(cell.Text),
			Words:   agents.CellInWords(cell, e.Steps[step].Observation),
			Readers: e.readers(step, effect.Readers),
		}
		if cell.Action != nil {
			message.Verb = agents.Verb(*cell.Action)
		}
		if label, ok := e.Label(step, effect.Cell); ok {
			message.Label = &label
		}
		for _, instead := range effect.Instead {
			message.Instead = append(message.Instead, Alternative{
				ReaderAnswer: e.answer(step, instead.Text, instead.Label),
				Readers:      e.readers(step, instead.Readers),
			})
		}
		message.Summary, message.size = message.effect(cell.Action)
		out = append(out, message)
	}

	return out
}

// readers returns the readers of a message with both of their answers.
func (e Episode) readers(step int, readings []domain.Reading) (out []MessageReader) {
	cells := e.Steps[step].Decision.Cells
	for _, reading := range readings {
		if reading.Cell < 0 || reading.Cell >= len(cells) {
			continue
		}
		cell := cells[reading.Cell]
		out = append(out, MessageReader{
			Agent: cell.Agent, Round: cell.Round,
			With:    e.answer(step, cell.Text, reading.With),
			Without: e.answer(step, reading.Text, reading.Without),
		})
	}

	return out
}

// answer returns an answer as pages show it.
func (e Episode) answer(step int, text string, label domain.Label) ReaderAnswer {
	screen := e.Steps[step].Observation
	cell := agents.Reader{Parsing: e.spec.Answers, Speech: true}.Cell(0, 0, text, "a prompt", screen)

	return ReaderAnswer{
		Text: bounded(text), Words: agents.CellInWords(cell, screen), Label: label, Verdict: verdict(cell, label),
	}
}

// verdict returns the label of a reader's answer in words.
func verdict(cell domain.Cell, label domain.Label) string {
	switch {
	case label == domain.Uncertain:
		return "is uncertain"
	case label == domain.Positive:
		return "acts right"
	case cell.Action == nil:
		return "gives no answer that parses"
	case cell.Action.Speech():
		return "does not act"
	}

	return "acts wrong"
}

// bounded returns a text of at most maxMessageText characters.
func bounded(text string) string {
	if letters := []rune(text); len(letters) > maxMessageText {
		return string(letters[:maxMessageText]) + "…"
	}

	return text
}

// gain returns how many more readers are right in the recorded answers than in the others, and whether any reader's
// label differs.
func gain(readers []MessageReader) (more int, changed bool) {
	for _, reader := range readers {
		if reader.With.Label == domain.Positive {
			more++
		}
		if reader.Without.Label == domain.Positive {
			more--
		}
		changed = changed || reader.With.Label != reader.Without.Label
	}

	return more, changed
}

// effect describes what a message changed, and returns the size of the effect: the number of readers by which the right
// ones are more or fewer.
func (m Message) effect(act *domain.Action) (words string, size int) {
	more, changed := gain(m.Readers)
	var parts []string
	switch {
	case more > 0:
		parts = append(parts, fmt.Sprintf("%d more %s right with it", more, plural(more, "reader is", "readers are")))
	case more < 0:
		readers := plural(-more, "reader is", "readers are")
		parts = append(parts, fmt.Sprintf("%d fewer %s right with it", -more, readers))
	case changed:
		parts = append(parts, "as many readers are right with it as without it")
	case len(m.Readers) > 0:
		parts = append(parts, "no reader is more or less right with it")
	}
	size = max(more, -more)
	if act != nil && act.Type == domain.ActionPass {
		helpful := 0
		for _, instead := range m.Instead {
			if instead.Label == domain.Positive {
				helpful++
				gained, _ := gain(instead.Readers)
				size = max(size, 1, -gained)
			}
		}
		parts = append(parts, passed(helpful, len(m.Instead)))
	}
	if len(parts) == 0 {
		return "it has no readers", size
	}

	return strings.Join(parts, "; "), size
}

// passed describes how many of the answers that were tried instead of a pass would have helped.
func passed(helpful, tried int) string {
	switch {
	case tried == 0:
		return "no other answer was tried"
	case tried == 1 && helpful == 0:
		return "the other answer that was tried would not have helped"
	case tried == 1:
		return "the other answer that was tried would have helped"
	case helpful == 0:
		return fmt.Sprintf("none of %d other answers would have helped", tried)
	}

	return fmt.Sprintf("%d of %d other answers would have helped", helpful, tried)
}

func plural(n int, one, more string) string {
	if n == 1 {
		return one
	}

	return more
}

// messageRow is a line about a message in the list of a run.
type messageRow struct {
	Step    int           `json:"step"` // from 1
	Agent   int           `json:"agent"`
	Round   int           `json:"round"`
	Words   string        `json:"words"`
	Label   *domain.Label `json:"label,omitempty"`
	Summary string        `json:"summary"`
	Size    int           `json:"size"`
}

// messageRows returns lines about the messages of the episode, those with the largest effects first.
func (e Episode) messageRows() (rows []messageRow) {
	for step := range e.Steps {
		for _, message := range e.Messages(step) {
			rows = append(rows, messageRow{
				Step: step + 1, Agent: message.Agent, Round: message.Round, Words: agents.Line(message.Words, maxLine),
				Label: message.Label, Summary: message.Summary, Size: message.size,
			})
		}
	}
	slices.SortStableFunc(rows, func(a, b messageRow) int { return cmp.Compare(b.Size, a.Size) })

	return rows[:min(len(rows), maxListed)]
}
