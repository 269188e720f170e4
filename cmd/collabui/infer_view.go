package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/policy/infer"
)

// event prints one event of an episode.
func (a *app) event(e infer.Event) error {
	if a.json {
		return json.NewEncoder(a.out).Encode(e)
	}
	var text strings.Builder
	switch e.Event {
	case "episode":
		say(&text, "episode %d: %s, task %s of %s, at most %d steps",
			e.Episode, e.Environment, e.Task.Template, e.Task.Split, e.Task.MaxSteps)
		say(&text, "goal: %s", agents.Line(e.Goal, 300))
	case "step":
		printStep(&text, e)
	case "end":
		printEnd(&text, e)
	}
	_, err := io.WriteString(a.out, printable(text.String()))

	return err
}

func printStep(w io.Writer, e infer.Event) {
	say(w, "\nstep %d: %s", e.Step, screenOf(e.Screen, 12))
	printMatrix(w, e.Matrix)
	say(w, "  executed: %s, %d of %d votes (%s)", e.InWords, e.Vote.Votes, len(e.Matrix), e.Vote.Rule)
	if e.Invalid != "" {
		say(w, "  nothing done: %s", agents.Line(e.Invalid, 200))
	}
}

func printEnd(w io.Writer, e infer.Event) {
	say(w, "\nend: %s after %d steps, %d of them without effect (raw score of the environment: %g)",
		e.Ending(), e.Outcome.Steps, e.Outcome.Invalid, *e.Raw)
	for _, name := range sortedKeys(e.Outcome.Metrics) {
		m := e.Outcome.Metrics[name]
		say(w, "  %s: %g of %d", name, m.Sum, m.N)
	}
	if e.Screenshot != "" {
		say(w, "screens: %s and those before it", e.Screenshot)
	}
}

// printMatrix prints what every agent said, one line per agent. A star marks a cell that agrees with the vote, a dot a
// cell that was not asked for.
func printMatrix(w io.Writer, cells []infer.Asked) {
	agent := -1
	var line strings.Builder
	for _, c := range cells {
		if c.Agent != agent {
			if agent >= 0 {
				line.WriteByte('\n')
			}
			agent = c.Agent
			_, _ = fmt.Fprintf(&line, "  agent %-2d", agent)
		}
		_, _ = fmt.Fprintf(&line, " %-36s", printable(cellText(c)))
	}
	say(w, "%s", line.String())
}

// notAsked is shown for a cell that could no longer change the vote.
const notAsked = "·"

func cellText(c infer.Asked) string {
	text := cmp.Or(agents.Line(c.InWords, 32), notAsked)
	if c.Agrees {
		text += " *"
	}

	return text
}
