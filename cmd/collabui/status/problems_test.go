package status

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/collabui/collabui/cmd/collabui/terminal"
)

// TestOnlyProblemsThatLastAreReported looks every five seconds at a server that is starting, and at one that is dead.
func TestOnlyProblemsThatLastAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		bar := terminal.NewBar(&out, false, "r")
		var problems Problems
		for _, now := range []map[string]bool{
			{"policy is dead": true, "env is dead": true},
			{"env is dead": true},
			{"env is dead": true},
			{"env is dead": true},
			{},
		} {
			problems.compare(bar, now)
			time.Sleep(problemsEvery)
		}
		if want := "  env is dead\n  no longer: env is dead\n"; out.String() != want {
			t.Errorf("reported %q, want %q", out.String(), want)
		}
	})
}
