package main

import (
	"testing"
	"time"

	"github.com/collabui/collabui/workflows"
)

// TestOnlyArmsThatWereSeenWholeMakeAForecast looks at an experiment whose first arms had ended before, and which is in
// the middle of an arm at the first look.
func TestOnlyArmsThatWereSeenWholeMakeAForecast(t *testing.T) {
	var a armTimes
	at := time.Unix(0, 0)
	for i, c := range []struct {
		after time.Duration
		st    workflows.ExperimentStatus
		want  string
	}{
		{0, workflows.ExperimentStatus{Done: 3, Arm: "full", Seed: 2}, "3 of 12 arms are played"},
		{2 * time.Second, workflows.ExperimentStatus{Done: 6, Arm: "full", Seed: 4}, "6 of 12 arms are played"},
		{time.Minute, workflows.ExperimentStatus{Done: 6, Arm: "full", Seed: 4}, ""},
		{
			29 * time.Minute, workflows.ExperimentStatus{Done: 7, Arm: "rft", Seed: 4},
			"7 of 12 arms are played, the last was full of seed 4, about 2h30m0s left",
		},
		{
			10 * time.Minute, workflows.ExperimentStatus{Done: 8, Arm: "full", Seed: 5, Ended: true},
			"8 of 12 arms are played, the last was rft of seed 4, about 1h20m0s left",
		},
		{
			time.Second, workflows.ExperimentStatus{Done: 9, Arm: "rft", Seed: 5},
			"9 of 12 arms are played, the last was full of seed 5, about 1h0m0s left",
		},
		{
			10 * time.Minute, workflows.ExperimentStatus{Done: 12},
			"12 of 12 arms are played",
		},
	} {
		at = at.Add(c.after)
		c.st.All = 12
		if got := a.next(c.st, at); got != c.want {
			t.Errorf("look %d says %q, want %q", i, got, c.want)
		}
	}

	a = armTimes{}
	a.next(workflows.ExperimentStatus{All: 2, Arm: "full", Seed: 1}, at)
	got := a.next(workflows.ExperimentStatus{All: 2, Done: 1, Arm: "rft", Seed: 1}, at.Add(time.Minute))
	if want := "1 of 2 arms are played, the last was full of seed 1"; got != want {
		t.Errorf("after an arm whose beginning was not seen: %q, want %q", got, want)
	}
}
