package results

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/collabui/collabui/cmd/collabui/terminal"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/view"
)

type played = view.Episode

// storedEpisode is an episode as the terminal shows it.
type storedEpisode struct{ played }

// text prints the whole episode.
func (e storedEpisode) text(out io.Writer) {
	var text strings.Builder
	task := e.Episode.Slot.Task
	terminal.Line(&text, "%s, epoch %d, slot %d: %s (%s), %s", e.Run, e.Epoch, e.Episode.Slot.Number, task.Template,
		task.Split,
		e.ending())
	terminal.Line(&text, "goal: %s", agents.Line(e.Episode.Goal, 400))
	critic := "not graded yet"
	if e.Credits != nil {
		critic = "labels by " + e.Credits.Critic
	}
	terminal.Line(&text, "graph %s; system of epoch %d; attempt %d; %s", e.graph(), e.Episode.System, e.Episode.Attempt,
		critic)
	terminal.Line(&text, "%s", e.signs())
	for i, step := range e.Steps {
		terminal.Line(&text, "\nstep %d: %s", step.Number, screenOf(agents.Lines(step.Observation), 12))
		e.matrix(&text, i)
		e.views(&text, i)
		e.messages(&text, i)
		terminal.Line(&text, "  executed: %s", e.decision(i))
	}
	_, _ = io.WriteString(out, terminal.Printable(text.String()))
}

// ending describes how the episode ended.
func (e storedEpisode) ending() string {
	episode := e.Episode
	switch {
	case e.Open:
		return fmt.Sprintf("open, %s so far", terminal.Count(len(e.Steps), "step"))
	case episode.Failed != "":
		return "failed: " + agents.Line(episode.Failed, 200)
	case episode.Void != "":
		return "void: " + agents.Line(episode.Void, 200)
	case episode.Outcome.Success:
		return "solved in " + terminal.Count(episode.Outcome.Steps, "step")
	case episode.Outcome.Truncated:
		return fmt.Sprintf("out of steps after %d", episode.Outcome.Steps)
	}

	return "not solved in " + terminal.Count(episode.Outcome.Steps, "step")
}

// screenOf returns at most so many of the elements that a screen shows.
func screenOf(lines []string, most int) string {
	more := ""
	if len(lines) > most {
		more = fmt.Sprintf(" … (%d more)", len(lines)-most)
		lines = lines[:most]
	}
	var out []string
	for _, line := range lines {
		_, words, _ := strings.Cut(line, " ") // people need no index
		out = append(out, words)
	}

	return strings.Join(out, " | ") + more
}

// notAsked is shown for a cell that was skipped because it could not change the vote any more.
const notAsked = "·"

// signs explains the signs of the matrix.
func (e storedEpisode) signs() string {
	text := "+ right, - wrong, ? uncertain, * executed"
	for i := range e.Steps {
		if len(e.Messages(i)) > 0 {
			return text + "; a message is right if more of its readers act right with it"
		}
	}

	return text
}

// matrix prints what each agent answered, with one line per agent and one column per round.
func (e storedEpisode) matrix(out io.Writer, step int) {
	const wide = 34
	s := e.Steps[step]
	line := "         "
	for round := range e.Rounds {
		line += fmt.Sprintf("     %-*s", wide, fmt.Sprintf("round %d", round+1))
	}
	terminal.Line(out, "%s", strings.TrimRight(line, " "))
	for i, cell := range s.Decision.Cells {
		if cell.Round == 0 {
			line = fmt.Sprintf("  agent %d", cell.Agent)
		}
		text := cmp.Or(agents.Line(agents.CellInWords(cell, s.Observation), wide-2), notAsked)
		won := " "
		if cell.Votes() && cell.Canonical == s.Decision.Executed.Canonical(s.Observation) {
			won = "*"
		}
		line += fmt.Sprintf("  %s%s %s%s", e.label(step, i), won, text, strings.Repeat(" ", wide-len([]rune(text))))
		if cell.Round == e.Rounds-1 {
			terminal.Line(out, "%s", strings.TrimRight(line, " "))
		}
	}
}

// views prints what each agent saw, and which elements it knows from its peers only, if agents saw different elements.
func (e storedEpisode) views(out io.Writer, step int) {
	const most = 12
	s := e.Steps[step]
	if !s.Decision.Divided() {
		return
	}
	lines := func(indices []int) (lines []string) {
		for _, index := range indices {
			if element, ok := s.Observation.Element(index); ok {
				lines = append(lines, agents.ElementLine(element))
			}
		}

		return lines
	}
	all := len(agents.Lines(s.Observation))
	for agent, seen := range s.Decision.Seen {
		text := fmt.Sprintf("  agent %d saw %d of %d elements: %s", agent, len(seen), all, screenOf(lines(seen), most))
		if told := e.told(step, agent); len(told) > 0 {
			text += "; named by peers: " + screenOf(lines(told), most)
		}
		terminal.Line(out, "%s", text)
	}
}

// messages prints what the messages of a step changed: the answers of their readers with and without them.
func (e storedEpisode) messages(out io.Writer, step int) {
	const wide = 80
	readers := func(readers []view.MessageReader, with, without string) {
		for _, reader := range readers {
			terminal.Line(out, "    agent %d, round %d: %s %s (%s), %s %s (%s)", reader.Agent, reader.Round+1,
				reader.With.Verdict, with, agents.Line(reader.With.Words, wide),
				reader.Without.Verdict, without, agents.Line(reader.Without.Words, wide))
		}
	}
	for _, message := range e.Messages(step) {
		terminal.Line(out, "  message of agent %d, round %d: %s: %s", message.Agent, message.Round+1,
			agents.Line(message.Words, wide), message.Summary)
		readers(message.Readers, "with it", "without it")
		for _, instead := range message.Instead {
			terminal.Line(out, "    instead: %s: %s", agents.Line(instead.Words, wide), helped[instead.Label])
			readers(instead.Readers, "with the pass", "with this answer")
		}
	}
}

// helped are the words for the labels of answers instead of a pass.
var helped = map[domain.Label]string{
	domain.Positive: "it would have helped", domain.Negative: "it would not have helped",
	domain.Uncertain: "it is uncertain whether it would help",
}

// told returns the elements of a step that an agent knows from its peers only.
func (e storedEpisode) told(step, agent int) (told []int) {
	for _, cell := range e.Steps[step].Decision.Cells {
		if cell.Agent == agent {
			told = append(told, cell.Told...)
		}
	}
	slices.Sort(told)

	return slices.Compact(told)
}

// decision describes what was executed in a step, by which vote, and with what effect.
func (e storedEpisode) decision(step int) string {
	s := e.Steps[step]
	vote, voters := e.Vote(step)
	out := fmt.Sprintf("%s, %d of %d votes (%s)", agents.ActionInWords(s.Decision.Executed, s.Observation), vote.Votes,
		voters, vote.Rule)
	switch {
	case s.Decision.OnlySpeech():
		out = "nothing: nobody acted"
	case vote.Canonical == "":
		out = "nothing: no answer parsed"
	}
	if e.Pairs != nil {
		out += "; " + terminal.Count(len(e.PairsOf(s.Number)), "pair")
	}

	return out
}

// label returns the critic's label of a cell of a step as a mark, or a blank if there is no label.
func (e storedEpisode) label(step, cell int) string {
	label, ok := e.Label(step, cell)
	if !ok {
		return " "
	}

	return map[domain.Label]string{domain.Positive: "+", domain.Negative: "-", domain.Uncertain: "?"}[label]
}

// graph returns who reads whom, in a few words.
func (e storedEpisode) graph() string {
	if len(e.Topology.Edges) == 0 {
		return "no agent reads another"
	}
	var out []string
	for _, edge := range e.Topology.Edges {
		out = append(out, fmt.Sprintf("%d→%d", edge[0], edge[1]))
	}
	if e.ReadsBack() {
		out = append(out, "(from round 2 on also against the arrows)")
	}

	return strings.Join(out, " ")
}
