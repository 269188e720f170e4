package main

import (
	"strings"
	"testing"

	"github.com/collabui/collabui/workflows"
)

// TestABarIsNeverLongerThanItsFrame: a tally that arrives late may count more episodes than there are.
func TestABarIsNeverLongerThanItsFrame(t *testing.T) {
	for _, c := range []struct {
		name      string
		done, all int
		full      int // blocks
	}{
		{"nothing to do", 0, 0, 0},
		{"nothing done", 0, 272, 0},
		{"half", 136, 272, 12},
		{"all", 272, 272, 24},
		{"more than all", 292, 272, 24},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := "[" + strings.Repeat("█", c.full) + strings.Repeat("·", 24-c.full) + "]"
			if got := blocks(c.done, c.all); got != want {
				t.Errorf("blocks(%d, %d) = %s, want %s", c.done, c.all, got, want)
			}
		})
	}
}

func TestProgressBeyondItsEndHasNoTimeLeft(t *testing.T) {
	p := workflows.Progress{Phase: workflows.PhaseRollouts, Done: 292, Slots: 272}
	if got := (&viewer{}).describe(p, "epoch 2/3", ""); strings.Contains(got, "left") {
		t.Errorf("describe = %q, want no time left", got)
	}
}

func TestProgressNamesTheRolloutsOfTheNextEpoch(t *testing.T) {
	next := workflows.Progress{Phase: workflows.PhaseAhead, Slots: 64, Done: 40}
	updating := workflows.Progress{Phase: workflows.PhaseUpdates, Agents: 4, Updates: 1, Next: &next}
	for want, got := range map[string]string{
		"1/4 updates; next epoch 40/64":               (&viewer{}).describe(updating, "epoch 2/3", ""),
		"40/64 episodes, 0.0 % right so far, 0 pairs": (&viewer{}).describe(next, "epoch 2/3", ""),
		"updates, 1 of 4 agents, 40 of 64 episodes":   (&live{Progress: updating}).line(),
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the line is %q, want one with %q", got, want)
		}
	}
}
