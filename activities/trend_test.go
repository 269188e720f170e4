package activities

import (
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
)

// TestTheBaseCountsForAnEarlyStopWhateverWasAskedBefore asks for the last epoch as a process does that sees the whole
// run, before the base is evaluated and after every epoch, and as one does that began later.
func TestTheBaseCountsForAnEarlyStopWhateverWasAskedBefore(t *testing.T) {
	s := spec.Default()
	s.Name, s.Epochs, s.EarlyStop = "run", 9, 2
	b := &store.Memory{}
	given := func() (spec.Spec, error) { return s, nil }
	if _, _, err := runs.Run("run").Spec().Record(t.Context(), b, given); err != nil {
		t.Fatal(err)
	}
	last := func(c *Control, committed, want int) {
		t.Helper()
		if got, err := c.lastEpoch(t.Context(), s, committed); err != nil || got != want {
			t.Errorf("after %d epochs, the last is %d, %v; want %d", committed, got, err, want)
		}
	}
	control := func() *Control { return &Control{Common: Common{Bucket: b}} }

	whole := control()
	last(whole, 0, 9)
	for epoch, right := range []int{60, 55, 56} {
		name := rules.ValName(s, epoch)
		result := runs.NewResult(name, domain.SplitVal, right, 100, 0, "planted")
		id := rules.EvalID(rules.EpochFolder(epoch), name, domain.SplitVal)
		_, _, _, err := runs.Run("run").Result(id).Write(t.Context(), b, result)
		if err == nil {
			_, _, _, err = runs.Run("run").Made(epoch).Write(t.Context(), b, runs.Made{})
		}
		if err == nil && epoch > 0 {
			_, _, _, err = runs.Run("run").Epoch(epoch).Write(t.Context(), b, runs.Epoch{Number: epoch, Val: &result})
		}
		if err != nil {
			t.Fatal(err)
		}
		want := 9
		if epoch == 2 {
			want = 2
		}
		last(whole, epoch, want)
		last(control(), epoch, want)
	}
}
