package house

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestNoLineOfADocumentIsLongerThan120Columns skips tables and addresses, and Go, which golangci-lint checks.
func TestNoLineOfADocumentIsLongerThan120Columns(t *testing.T) {
	var problems []problem
	for _, s := range read(t) {
		for i, line := range strings.Split(s.text, "\n") {
			long := utf8.RuneCountInString(line) > 120 && !strings.HasPrefix(strings.TrimSpace(line), "|")
			if s.ast == nil && long && !strings.Contains(line, "://") && !strings.Contains(s.name, "golden") {
				problems = append(problems, problem{file: s.name, line: i + 1, text: fmt.Sprintf(
					"the line has %d columns: break it at 120", utf8.RuneCountInString(line))})
			}
		}
	}

	report(t, problems)
}
