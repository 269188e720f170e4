package retrain

import (
	"testing"

	"github.com/collabui/collabui/internal/records/runs"
)

func TestOnlyEpisodesThatWerePlayedShowADrift(t *testing.T) {
	was := runs.NewResult("trained-4", "val", 80, 100, 0, "")
	for name, c := range map[string]struct {
		now  runs.Result
		want bool
	}{
		"worse":              {runs.NewResult("trained-4", "val", 40, 100, 0, ""), true},
		"worse, few of many": {runs.NewResult("trained-4", "val", 4, 40, 60, ""), true},
		"as good":            {runs.NewResult("trained-4", "val", 78, 100, 0, ""), false},
		"all are missing":    {runs.NewResult("trained-4", "val", 0, 0, 100, ""), false},
	} {
		if got := isWorse(c.now, was); got != c.want {
			t.Errorf("%s: drifted = %v, want %v", name, got, c.want)
		}
	}
}
