package status

import (
	"github.com/collabui/collabui/internal/records/runs"
)

// forecast returns the cost of all calls of a run at its end, if the remaining epochs cost as much as the committed
// ones. It returns 0 before the first commit.
func forecast(all []runs.Spending, committed, epochs int) float64 {
	before := 0.0
	inEpochs := 0.0
	for _, spending := range all {
		switch {
		case spending.Epoch == 0:
			before += spending.Money
		case spending.Epoch <= committed:
			inEpochs += spending.Money
		}
	}
	if committed == 0 {
		return 0
	}

	return before + inEpochs*float64(epochs)/float64(committed)
}
