package status

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/collabui/collabui/internal/records/runs"
)

// TestTheCostOfARun sums up calls by role and by epoch, and looks ahead.
func TestTheCostOfARun(t *testing.T) {
	t.Parallel()
	spending := func(role string, epoch, calls int, money float64) runs.Spending {
		return runs.Spending{
			Purpose: runs.Purpose{Role: role, Model: "m-1", Epoch: epoch},
			Spent:   runs.Spent{Calls: calls, Tokens: 10 * calls, Money: money},
		}
	}
	all := []runs.Spending{
		spending("author", 0, 5, 3),
		spending("critic", 1, 10, 2), spending("critic", 2, 12, 4), spending("critic", 3, 1, 9),
	}
	if got := forecast(all, 0, 10); got != 0 {
		t.Errorf("the forecast before the first epoch is %v, want none", got)
	}
	if got, want := forecast(all, 2, 10), 3+10*3.0; math.Abs(got-want) > 1e-9 {
		t.Errorf("the forecast after 2 of 10 epochs is %v, want %v", got, want)
	}

	st := Report{Epoch: 2, Epochs: 10, Spending: all, Forecast: 33}
	st.Spent = &runs.Spent{Calls: 28, Tokens: 280, Money: 18}
	var out bytes.Buffer
	st.costText(&out)
	st.Spending[3].Estimated = 1
	st.Spent.Estimated = 1
	st.costText(&out)
	for _, want := range []string{
		"critic, m-1: 23 calls, 230 tokens (estimated for 1 call, of which the server reports none), 15.0000",
		"280 tokens (estimated for 1 call",
		"28 recorded calls, 280 tokens, cost 18.0000, about 33.00 after epoch 10",
		"\n  critic, m-1: 23 calls, 230 tokens, 15.0000\n  author, m-1: 5 calls, 50 tokens, 3.0000\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the costs are\n%s\nwant %q", out.String(), want)
		}
	}
}
