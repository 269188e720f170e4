package status

import (
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/records/runs"
)

func TestUpdatesAreShownWithTheirChangeAgainstTheParent(t *testing.T) {
	var b strings.Builder
	printUpdates(&b, []runs.Update{
		{Agent: 0, Probe: domain.Probe{
			Chosen:    domain.LogProbs{Policy: -1.25, Parent: -1.5, Base: -3},
			Rejected:  domain.LogProbs{Policy: -9, Parent: -8, Base: -2},
			Displaced: -0.0421, Entropy: 0.8, KL: 0.31, Preference: 0.88,
		}},
		{Agent: 1, Probe: domain.Probe{Unknown: "too old"}},
		{Agent: 3, Served: domain.Gap{Answers: 8, Mean: 2e-6, Worst: 1e-5}, Played: domain.Gap{Unknown: "no server"}},
		{Agent: 4, Served: domain.Gap{Answers: 8}},
		{Agent: 2, Kept: "3 pairs are fewer than min_pairs 8"},
	})

	for _, want := range []string{
		"    0       -    -1.25 (+0.25)     -9.00 (-1.00)    +1.25     -0.042     0.80    0.31        88 %\n",
		"    1       - unknown: too old\n",
		"    3       - not measured  train-serve gap 2e-06, worst 1e-05  rollout gap unknown: no server\n",
		"    4       - not measured\n",
		"    2       - not measured  parent kept: 3 pairs are fewer than min_pairs 8\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the table is\n%s\nwant it to have %q", b.String(), want)
		}
	}
}
