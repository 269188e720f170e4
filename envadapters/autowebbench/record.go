package autowebbench

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters/recorded"
)

// step is one record: a page with a task, and the command that the annotator gave.
type step struct {
	task string
	pose recorded.Pose
	gold domain.Action
}

// Marks between the parts of a record's source.
const (
	markPrompt   = "\n\nYou are a helpful assistant"
	markPrevious = "#Previous commands:"
	markTabs     = "#Window tabs:"
	markViewport = "#Current viewport (pages):"
	markTask     = "#Task:"
	markEnd      = "\n\nYou should output one command"
	markSegment  = "#HTML Segment:"
)

// marks are the marks of a source in order.
var marks = []string{markPrompt, markPrevious, markTabs, markViewport, markTask, markEnd}

// source contains the parts of a record's source that are used.
type source struct{ page, previous, tabs, viewport, task string }

// cutSource divides a source at its marks.
func cutSource(text string) (source, error) {
	parts := make([]string, len(marks))
	for i, mark := range marks {
		before, after, ok := strings.Cut(text, mark)
		if !ok {
			return source{}, fmt.Errorf("the source lacks one of the parts %q", marks)
		}
		parts[i] = before
		text = after
	}
	for i := range parts[1:] {
		parts[i+1] = strings.TrimSpace(parts[i+1])
	}

	// parts[1] is the rest of the prompt's first paragraph.
	return source{page: parts[0], previous: parts[2], tabs: parts[3], viewport: parts[4], task: parts[5]}, nil
}

// parseRecord reads {"source": prompt, "target": command}. The text of a record is data: it is divided and copied,
// never evaluated.
func parseRecord(raw []byte) (step, error) {
	var r struct{ Source, Target string }
	if err := json.Unmarshal(raw, &r); err != nil {
		return step{}, err
	}
	if r.Source == "" || r.Target == "" {
		return step{}, errors.New(`expected {"source": prompt, "target": command}`)
	}
	src, err := cutSource(r.Source)
	if err != nil {
		return step{}, err
	}

	gold, rest, err := parseCall(r.Target)
	if err == nil && strings.TrimSpace(rest) != "" {
		err = fmt.Errorf("text after the command: %.40q", rest)
	}
	if err != nil {
		return step{}, fmt.Errorf("target: %w", err)
	}
	previous, err := history(src.previous)
	if err != nil {
		return step{}, err
	}

	s := step{task: src.task, gold: gold}
	s.pose.Right = []domain.Action{gold}
	s.pose.History = previous
	s.pose.Observation.Elements = parsePage(src.page).elements([]domain.Element{
		unnamed(0, "tabs", src.tabs),
		unnamed(1, "viewport", src.viewport),
	})

	return s, nil
}

// history returns one line per previous command.
func history(text string) ([]string, error) {
	out := []string{}
	if text == "None" {
		return out, nil
	}

	for text != "" {
		action, rest, err := parseCall(text)
		if err != nil {
			return nil, fmt.Errorf("previous command %d: %w", len(out)+1, err)
		}

		line := fmt.Sprintf("%d %s", len(out)+1, callText(action))
		if after, ok := strings.CutPrefix(strings.TrimLeft(rest, " "), markSegment); ok {
			var segment string
			segment, rest = cutSegment(after)
			for _, element := range parsePage(segment).elements(nil) {
				if element.ID == action.Element {
					line += " " + element.Role + " " + element.Text + element.Value
				}
			}
		}
		out = append(out, line)
		text = strings.TrimSpace(rest)
	}

	return out, nil
}

// cutSegment divides text into the segment at its start and the next command. The text of a segment may hold line
// breaks.
func cutSegment(text string) (segment, rest string) {
	segment, rest, _ = strings.Cut(text, "\n")
	for rest != "" && !startsCall(rest) {
		var more string
		more, rest, _ = strings.Cut(rest, "\n")
		segment += " " + more
	}

	return segment, rest
}
