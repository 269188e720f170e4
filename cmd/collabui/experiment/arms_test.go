package experiment

import (
	"testing"
	"time"

	"github.com/collabui/collabui/workflows"
)

func TestArmsThatTookSomeTimeMakeAForecast(t *testing.T) {
	for _, c := range []struct {
		st   workflows.ExperimentStatus
		took time.Duration
		want string
	}{
		{
			workflows.ExperimentStatus{Done: 3, Arm: "full", Seed: 2}, 0,
			"3 of 12 arms are played, next is full of seed 2",
		},
		{
			workflows.ExperimentStatus{Done: 7, Arm: "rft", Seed: 4}, 30 * time.Minute,
			"7 of 12 arms are played, next is rft of seed 4, about 2 h 30 min left",
		},
		{workflows.ExperimentStatus{Done: 12}, 10 * time.Minute, "12 of 12 arms are played"},
	} {
		c.st.All = 12
		if got := armsPlayed(c.st, c.took); got != c.want {
			t.Errorf("after an arm of %v it says %q, want %q", c.took, got, c.want)
		}
	}
}
