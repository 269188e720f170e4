package epoch

import "github.com/collabui/collabui/internal/records/runs"

// PastEpochs is the number of epochs that the page of a run shows.
const PastEpochs = 20

// Summary is a committed epoch in a few figures.
type Summary struct {
	Epoch    int
	Rollouts float64 // success rate of the sampling policies on training tasks, 0 to 1
	Pairs    int
	Val      float64 // success rate on val of what the epoch made, 0 to 1; -1 if it was not evaluated
	Kept     string  // why the agents continue with the policies before the epoch's updates
	Digest   string
	Failed   int // slots
}

// SummaryOf returns an epoch in a few figures.
func SummaryOf(e runs.Epoch) Summary {
	summary := Summary{
		Epoch: e.Number, Rollouts: e.Rollouts.Rate, Pairs: e.Pairs, Val: -1, Kept: e.Kept, Digest: e.Digest,
		Failed: e.FailedAll,
	}
	if e.Val != nil {
		summary.Val = e.Val.Rate
	}

	return summary
}
