package agents

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/collabui/collabui/domain"
)

const (
	noteMark    = "Note:"   // begins the line of an answer that is kept for later steps
	notesPrefix = "Notes: " // begins the line of notes, which is the last line of a history
	noteBreak   = " | "     // separates notes
)

// NoteOf returns the note of an answer: the rest of the last line before its action that begins with "Note:". It
// returns "" if there is none.
func NoteOf(text string) string {
	before := text
	if at := strings.LastIndex(text, mark); at >= 0 {
		before = text[:at]
	}
	for _, line := range slices.Backward(strings.Split(before, "\n")) {
		if note, ok := strings.CutPrefix(strings.TrimSpace(line), noteMark); ok {
			return strings.TrimSpace(note)
		}
	}

	return ""
}

// lineOfNote begins the note in a text of ModelSummary.
const lineOfNote = "\n" + noteMark + " "

// SplitNote splits a text of ModelSummary into the line of the history and the note, or "".
func SplitNote(text string) (line, note string) {
	line, note, _ = strings.Cut(text, lineOfNote)

	return line, note
}

// WithNote adds a note to an answer of two lines, before its action.
func WithNote(text, note string) string {
	at := strings.LastIndex(text, mark)
	if note == "" || at < 0 {
		return text
	}

	return text[:at] + noteMark + " " + note + "\n" + text[at:]
}

// Note returns what the agents that voted for the executed action noted: the note of the latest round and, within a
// round, of the lowest agent. It returns "" without a note, and if agents do not write notes.
func (c Config) Note(decision domain.Decision) string {
	if !c.Notes || len(decision.Cells) == 0 {
		return ""
	}
	winner := c.VoteScope.Winner(decision).Canonical
	for round := c.Rounds - 1; round >= 0; round-- {
		for agent := range c.Policies {
			cell := decision.Cell(agent, round, c.Rounds)
			if note := NoteOf(cell.Text); note != "" && cell.Votes() && cell.Canonical == winner {
				return note
			}
		}
	}

	return ""
}

// Remember returns a history with the line of another step. A note is added to the line of notes, which stays at the
// end. If that line is too long, the oldest notes are dropped, and a single note is cut. A note that the line holds
// already becomes its newest one.
func (l Limits) Remember(history []string, line, note string) []string {
	l = l.OrSmall()
	steps, kept := splitNotes(history)
	note = strings.ReplaceAll(Line(note, l.Notes), noteBreak, " ")
	out := append(slices.Clip(steps), line)
	if note == "" && kept == "" {
		return out
	}
	var notes []string
	for _, earlier := range strings.Split(kept, noteBreak) {
		if earlier != "" && earlier != note {
			notes = append(notes, earlier)
		}
	}
	if note != "" {
		notes = append(notes, note)
	}
	for len(notes) > 1 && utf8.RuneCountInString(strings.Join(notes, noteBreak)) > l.Notes {
		notes = notes[1:]
	}

	return append(out, notesPrefix+strings.Join(notes, noteBreak))
}

// splitNotes returns the lines of a history about its steps, and its notes, or "" if it has none.
func splitNotes(history []string) (steps []string, notes string) {
	last := len(history) - 1
	if last < 0 || !strings.HasPrefix(history[last], notesPrefix) {
		return history, ""
	}

	return history[:last], strings.TrimPrefix(history[last], notesPrefix)
}

// Notes returns the notes at the end of a history, or "" if it has none.
func Notes(history []string) string {
	_, notes := splitNotes(history)

	return notes
}

// HistoryLine returns a line of a history as prompts show it.
func (l Limits) HistoryLine(line string) string { return Line(line, l.OrSmall().lineLimit(line)) }

// lineLimit returns the most characters that prompts show of a line of the history. The line of notes has its own
// limit, and room for the ellipsis of a note that was cut.
func (l Limits) lineLimit(line string) int {
	if strings.HasPrefix(line, notesPrefix) {
		return len(notesPrefix) + l.Notes + 1
	}

	return l.Line
}
