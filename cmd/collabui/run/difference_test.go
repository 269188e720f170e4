package run

import (
	"testing"

	"github.com/collabui/collabui/internal/method/spec"
)

func TestDifferencesOfSpecificationsAreNamed(t *testing.T) {
	a := spec.Default()
	b := a
	b.Train.Ftx = 0.7
	if got, want := difference(a, b), "  train.ftx: the run has 0, the file says 0.7\n"; got != want {
		t.Errorf("difference = %q, want %q", got, want)
	}
	if got := difference(a, a); got != "" {
		t.Errorf("difference of equal specifications = %q, want none", got)
	}
}
