package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/collabui/collabui/internal/method/agents"
)

// text prints the whole episode.
func (e storedEpisode) text(w io.Writer) {
	var text strings.Builder
	task := e.Episode.Slot.Task
	say(&text, "%s, epoch %d, slot %d: %s (%s), %s", e.Run, e.Epoch, e.Episode.Slot.Number, task.Template, task.Split,
		e.ending())
	say(&text, "goal: %s", agents.Line(e.Episode.Goal, 400))
	critic := "not graded yet"
	if e.Credits != nil {
		critic = "labels by " + e.Credits.Critic
	}
	say(&text, "graph %s; system of epoch %d; attempt %d; %s", edges(e.Topology), e.Episode.System, e.Episode.Attempt,
		critic)
	for i, s := range e.Steps {
		say(&text, "\nstep %d: %s", s.Number, screenOf(agents.Lines(s.Observation), 12))
		e.matrix(&text, i)
		say(&text, "  executed: %s", e.decided(i))
	}
	_, _ = io.WriteString(w, printable(text.String()))
}

// ending says how the episode ended.
func (e storedEpisode) ending() string {
	x := e.Episode
	switch {
	case e.Open:
		return fmt.Sprintf("open, %d steps so far", len(e.Steps))
	case x.Failed != "":
		return "failed: " + agents.Line(x.Failed, 200)
	case x.Void != "":
		return "void: " + agents.Line(x.Void, 200)
	case x.Outcome.Success:
		return fmt.Sprintf("solved in %d steps", x.Outcome.Steps)
	case x.Outcome.Truncated:
		return fmt.Sprintf("out of steps after %d", x.Outcome.Steps)
	}

	return fmt.Sprintf("not solved in %d steps", x.Outcome.Steps)
}

// screenOf returns the shown elements of a screen, at most so many.
func screenOf(lines []string, most int) string {
	more := ""
	if len(lines) > most {
		lines, more = lines[:most], fmt.Sprintf(" … (%d more)", len(lines)-most)
	}
	var out []string
	for _, l := range lines {
		_, words, _ := strings.Cut(l, " ") // people need no index
		out = append(out, words)
	}

	return strings.Join(out, " | ") + more
}

// notAsked is shown for a cell that could no longer change the vote.
const notAsked = "·"

// matrix prints what every agent said, one line per agent and a column per round.
func (e storedEpisode) matrix(w io.Writer, step int) {
	const wide = 34
	s := e.Steps[step]
	line := ""
	for i, c := range s.Decision.Cells {
		if c.Round == 0 {
			line = fmt.Sprintf("  agent %d", c.Agent)
		}
		text := cmp.Or(agents.Line(agents.CellInWords(c, s.Observation), wide-2), notAsked)
		won := " "
		if c.Canonical != "" && c.Canonical == s.Decision.Executed.Canonical(s.Observation) {
			won = "*"
		}
		line += fmt.Sprintf("  %s%s %s%s", e.label(step, i), won, text, strings.Repeat(" ", wide-len([]rune(text))))
		if c.Round == e.Rounds-1 {
			say(w, "%s", strings.TrimRight(line, " "))
		}
	}
}

// decided says what was executed in a step, by which vote, and what came of it.
func (e storedEpisode) decided(step int) string {
	s := e.Steps[step]
	v, voters := e.Vote(step)
	out := fmt.Sprintf("%s, %d of %d votes (%s)", agents.ActionInWords(s.Decision.Executed, s.Observation), v.Votes,
		voters, v.Rule)
	if v.Canonical == "" {
		out = "nothing: no answer parsed"
	}
	if e.Pairs != nil {
		out += fmt.Sprintf("; %d pairs", len(e.PairsOf(s.Number)))
	}

	return out
}

// full prints one step with everything that was said.
func (e storedEpisode) full(w io.Writer, step int) {
	var text strings.Builder
	s := e.Steps[step]
	say(&text, "%s, epoch %d, slot %d, step %d of %d", e.Run, e.Epoch, e.Episode.Slot.Number, s.Number, len(e.Steps))
	say(&text, "goal: %s\n\nhistory:", agents.Line(s.Goal, 400))
	for _, h := range s.History {
		say(&text, "  %s", agents.Line(h, 200))
	}
	say(&text, "\nscreen:")
	for _, l := range agents.Lines(s.Observation) {
		say(&text, "  %s", l)
	}
	for i, c := range s.Decision.Cells {
		if c.Prompt == "" {
			continue
		}
		say(&text, "\nagent %d, round %d: %s %s", c.Agent, c.Round+1, e.label(step, i),
			agents.CellInWords(c, s.Observation))
		for l := range strings.Lines(c.Text) {
			say(&text, "  %s", agents.Line(l, 600))
		}
		if c.Refused != "" {
			say(&text, "  refused: %s", agents.Line(c.Refused, 300))
		}
		if len(c.Repaired) > 0 {
			say(&text, "  repaired: %s", strings.Join(c.Repaired, ", "))
		}
		if c.ParseError != "" {
			say(&text, "  no action: %s", agents.Line(c.ParseError, 300))
		}
	}
	say(&text, "\nexecuted: %s", e.decided(step))
	for _, right := range s.Right {
		say(&text, "right, says the judge: %s", agents.ActionInWords(right, s.Observation))
	}
	for _, p := range e.PairsOf(s.Number) {
		if p.Advantage != 0 {
			say(&text, "sample of agent %d, round %d: advantage %+.2f", p.Agent, p.Round+1, p.Advantage)
			continue
		}
		say(&text, "pair of agent %d, round %d (%s, weight %.2f):\n  chosen   %s\n  rejected %s", p.Agent, p.Round+1,
			p.Source, p.Weight, agents.Line(p.Chosen, 300), agents.Line(p.Rejected, 300))
	}
	_, _ = io.WriteString(w, printable(text.String()))
}
