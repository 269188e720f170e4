// Package health checks the services, the store and the disk, and reports what is wrong and what to do. It changes
// nothing.
package health

import (
	"io"
	"slices"

	"github.com/collabui/collabui/cmd/collabui/terminal"
	"github.com/collabui/collabui/internal/local/supervisor"
)

// Finding is one line of doctor's output.
type Finding struct {
	What   string `json:"what"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
	Fix    string `json:"fix,omitempty"`
}

// Text prints the finding, and what to do about it.
func (f Finding) Text(out io.Writer) {
	mark := "ok  "
	if !f.OK {
		mark = "FAIL"
	}
	terminal.Line(out, "%s %-16s %s", mark, f.What, f.Detail)
	if f.Fix != "" {
		terminal.Line(out, "     to do: %s", f.Fix)
	}
}

// Problems returns the findings that report a problem, or nil.
func Problems(all []Finding) (bad []Finding) {
	for _, finding := range all {
		if !finding.OK {
			bad = append(bad, finding)
		}
	}

	return bad
}

// Fails reports whether a service is among the findings that report a problem.
func Fails(all []Finding, name supervisor.Name) bool {
	return slices.ContainsFunc(all, func(finding Finding) bool { return !finding.OK && finding.What == name })
}
