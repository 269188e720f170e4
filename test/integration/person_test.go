//go:build integration

package integration

import (
	"strings"
	"testing"
	"time"
)

// TestAPersonPausesResumesAndStops checks that a run can be steered, reports it, and ends as if it had never been
// steered.
func TestAPersonPausesResumesAndStops(t *testing.T) {
	t.Parallel()
	m := newMachine(t, specification)
	m.must("train", m.spec, "--detach")
	m.rollsOut("0001", 10, 2*time.Minute)

	m.must("pause", "kill", "--why", "lunch")
	m.refuses("paused already", "pause", "kill")
	if s, err := m.show(); err != nil || s.Status != "paused" {
		t.Errorf("after pause: status %q, error %v; want \"paused\"", s.Status, err)
	}
	m.must("resume", "kill")

	m.must("stop", "kill", "--why", "enough")
	m.reaches("it is stopped", 30*time.Second, func(s shown) bool { return s.Status == "stopped" || s.finished() })
	m.refuses("does not run", "pause", "nobody")

	m.must("train", m.spec, "--detach")
	m.committed(1, 2*time.Minute)
	m.must("stop", "kill", "--why", "for a moment")
	m.must("train", m.spec) // at once: it waits for the end of the stopping run
	same(t, m.finish())
	changed := m.write("changed.yaml", strings.Replace(specification, "slots: 16", "slots: 17", 1))
	m.refuses("slots: the run has 16, the file says 17", "train", changed)
}
