package status

import (
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/records/runs"
)

func TestTheTableOfRatesShowsTokensPerSuccess(t *testing.T) {
	cost := runs.Cost{Calls: 7, Usage: domain.Usage{Prompt: 900, Cached: 500, Answer: 100}}
	paid := runs.NewResult("trained-4", "val", 4, 10, 0, "warm")
	paid.Cost = cost
	nothing := runs.NewResult("base-4", "val", 0, 10, 0, "warm")
	nothing.Cost = cost
	older := runs.NewResult("base-1", "val", 3, 10, 0, "warm")

	var b strings.Builder
	PrintResults(&b, []runs.Result{paid, nothing, older})
	for system, want := range map[string]string{
		"system": "tokens/success", "trained-4": " 250", "base-4": " –", "base-1": " –",
	} {
		found := false
		for line := range strings.Lines(b.String()) {
			line = strings.TrimRight(line, "\n")
			found = found || strings.HasPrefix(line, system+" ") && strings.HasSuffix(line, want)
		}
		if !found {
			t.Errorf("no line of %s ends with %q, want one:\n%s", system, want, b.String())
		}
	}
}
