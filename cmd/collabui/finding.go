package main

import (
	"io"
	"slices"

	"github.com/collabui/collabui/cmd/collabui/terminal"
	"github.com/collabui/collabui/internal/process/supervisor"
)

// finding is one line of doctor's output.
type finding struct {
	What   string `json:"what"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
	Fix    string `json:"fix,omitempty"`
}

func (f finding) text(w io.Writer) {
	mark := "ok  "
	if !f.OK {
		mark = "FAIL"
	}
	terminal.Line(w, "%s %-16s %s", mark, f.What, f.Detail)
	if f.Fix != "" {
		terminal.Line(w, "     to do: %s", f.Fix)
	}
}

// silent returns the findings that report a problem, or nil.
func silent(all []finding) (bad []finding) {
	for _, f := range all {
		if !f.OK {
			bad = append(bad, f)
		}
	}

	return bad
}

// fails reports whether a service is among the findings that report a problem.
func fails(all []finding, name supervisor.Name) bool {
	return slices.ContainsFunc(all, func(f finding) bool { return !f.OK && f.What == name })
}
