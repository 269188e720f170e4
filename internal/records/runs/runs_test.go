package runs

import (
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/store"
)

// TestBestOnVal compares the best epoch with the base.
func TestBestOnVal(t *testing.T) {
	t.Parallel()
	curve := []EvalPoint{{At: 0, Rate: 0.5}, {At: 1, Rate: 0.4}, {At: 2, Rate: 0.6}}
	for epoch, want := range []string{"none was switched to", "40.0 %, where the base has 50.0 %", "the best on val"} {
		if got := BestOnVal(epoch, curve); !strings.Contains(got, want) {
			t.Errorf("BestOnVal(%d) = %q, want %q", epoch, got, want)
		}
	}
}

// TestSpending adds up recorded calls by purpose.
func TestSpending(t *testing.T) {
	t.Parallel()
	b := &store.Memory{}
	run := Run("r")
	for i, a := range []Answer{
		{Role: "critic", Model: "m", Epoch: 2, Cost: 1}, {Role: "critic", Model: "m", Epoch: 2, Cost: 2},
		{Role: "critic", Model: "m", Epoch: 1, Cost: 4}, {Role: "author", Model: "m", Cost: 8},
	} {
		a.Usage = domain.Usage{Prompt: 10, Answer: 1, Estimated: i == 1}
		id := strings.Repeat(string(rune('a'+i)), 64)
		if _, _, err := run.Call(id).Record(t.Context(), b, func() (Answer, error) { return a, nil }); err != nil {
			t.Fatal(err)
		}
	}
	got, err := run.Spending(t.Context(), b)
	if err != nil || len(got) != 3 {
		t.Fatalf("Spending = %+v, %v, want three purposes", got, err)
	}
	if got[0].Role != "author" || got[1].Epoch != 1 ||
		got[2].Spent != (Spent{Calls: 2, Tokens: 22, Money: 3, Estimated: 1}) {
		t.Errorf("Spending = %+v, want the author, and the critic in epochs 1 and 2 with 2 calls of 3, "+
			"one of them estimated", got)
	}
	total, err := run.Spent(t.Context(), b)
	if want := (Spent{Calls: 4, Tokens: 44, Money: 15, Estimated: 1}); err != nil || total != want {
		t.Errorf("Spent = %+v, %v, want 4 calls, 44 tokens, 15", total, err)
	}
}
