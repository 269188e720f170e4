package autowebbench

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters/recorded"
)

// step is one record: a page with what was asked, and the command that was given.
type step struct {
	task string
	pose recorded.Pose
	gold domain.Action
}

// The marks between the parts of a record's source.
const (
	markPrompt   = "\n\nYou are a helpful assistant"
	markPrevious = "#Previous commands:"
	markTabs     = "#Window tabs:"
	markViewport = "#Current viewport (pages):"
	markTask     = "#Task:"
	markEnd      = "\n\nYou should output one command"
	markSegment  = "#HTML Segment:"
)

// parseRecord reads {"source": prompt, "target": command}. Text of the record is data: it is split and copied, never evaluated.
func parseRecord(raw []byte) (step, error) {
	var r struct{ Source, Target string }
	if err := json.Unmarshal(raw, &r); err != nil {
		return step{}, err
	}
	if r.Source == "" || r.Target == "" {
		return step{}, errors.New(`expected {"source": prompt, "target": command}`)
	}
	parts := map[string]string{}
	page, rest, ok := strings.Cut(r.Source, markPrompt)
	for _, mark := range []string{markPrevious, markTabs, markViewport, markTask, markEnd} {
		var before string
		found := false
		if before, rest, found = strings.Cut(rest, mark); !found {
			ok = false
			break
		}
		parts[mark] = strings.TrimSpace(before) // what stands before the mark belongs to the one before it
	}
	if !ok {
		return step{}, fmt.Errorf("the source lacks one of the parts %q", []string{markPrompt, markPrevious, markTabs, markViewport, markTask, markEnd})
	}
	previous, tabs, viewport, task := parts[markTabs], parts[markViewport], parts[markTask], parts[markEnd]
	gold, behind, err := parseCall(r.Target)
	if err == nil && strings.TrimSpace(behind) != "" {
		err = fmt.Errorf("text behind the command: %.40q", behind)
	}
	if err != nil {
		return step{}, fmt.Errorf("target: %w", err)
	}
	s := step{task: task, gold: gold}
	s.pose.Right = []domain.Action{gold}
	s.pose.Observation.Elements = []domain.Element{{Index: 0, ID: domain.NoID, Role: "tabs", Text: tabs, Visible: true}, {Index: 1, ID: domain.NoID, Role: "viewport", Text: viewport, Visible: true}}
	s.pose.Observation.Elements = parsePage(page).elements(s.pose.Observation.Elements)
	s.pose.History, err = history(previous)
	return s, err
}

// history gives a line per previous command.
func history(s string) ([]string, error) {
	out := []string{}
	if s == "None" {
		return out, nil
	}
	for s != "" {
		a, rest, err := parseCall(s)
		if err != nil {
			return nil, fmt.Errorf("previous command %d: %w", len(out)+1, err)
		}
		line := fmt.Sprintf("%d %s", len(out)+1, callText(a))
		if after, ok := strings.CutPrefix(strings.TrimLeft(rest, " "), markSegment); ok {
			segment, next, _ := strings.Cut(after, "\n")
			for next != "" && !startsCall(next) { // a segment's text may hold line breaks
				var more string
				more, next, _ = strings.Cut(next, "\n")
				segment += " " + more
			}
			rest = next
			for _, e := range parsePage(segment).elements(nil) {
				if e.ID == a.Element {
					line += " " + e.Role + " " + e.Text + e.Value
				}
			}
		}
		out, s = append(out, line), strings.TrimSpace(rest)
	}
	return out, nil
}

func startsCall(s string) bool {
	name, _, ok := strings.Cut(s, "(")
	return ok && params[name] != nil
}
