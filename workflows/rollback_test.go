package workflows_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/test/kit/testrun"
)

// unbeatable returns a run whose base was right in all episodes on val, by a result that is planted.
func unbeatable(t *testing.T, change func(*spec.Spec)) *testrun.Run {
	t.Helper()
	s := testrun.Small()
	s.Slots, s.Evaluation.TestSeeds, s.Evaluation.TestTemplates = 6, 0, 0
	change(&s)
	r := testrun.WithBase(t, s)

	run := runs.Run(s.Name)
	name := rules.BaseName(s.Agents)
	id := rules.EvalID(rules.EpochFolder(0), name, domain.SplitVal)
	plant := func() (runs.Result, error) {
		return runs.NewResult(name, domain.SplitVal, s.Evaluation.Val, s.Evaluation.Val, 0, "planted"), nil
	}
	if _, _, err := run.Result(id).Record(t.Context(), r.Bucket, plant); err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= s.Evaluation.Val; n++ {
		solved := func() (runs.EvalEpisode, error) {
			return runs.EvalEpisode{Outcome: domain.Outcome{Success: true}}, nil
		}
		if _, _, err := run.EvalEpisode(id, n).Record(t.Context(), r.Bucket, solved); err != nil {
			t.Fatal(err)
		}
	}

	return r
}

func TestAnEpochThatLosesOnValIsRolledBack(t *testing.T) {
	t.Parallel()
	r := unbeatable(t, func(*spec.Spec) {})
	end := play(t, r)

	run := runs.Run("small")
	base := read(t, r, run.Base()).Policy
	for k := 1; k <= 2; k++ {
		e := read(t, r, run.Epoch(k))
		if !strings.Contains(e.Kept, "val fell from") || e.System.Version != 0 {
			t.Errorf("epoch %d goes on with version %d because %q, want 0 because val fell",
				k, e.System.Version, e.Kept)
		}
		if !slices.Equal(e.System.Policies, slices.Repeat([]runs.Policy{base}, r.Spec.Agents)) {
			t.Errorf("epoch %d goes on with %v, want the base policy %v", k, e.System.Policies, base)
		}
		if got := read(t, r, run.Update(k, 0)); got.Policy == base || got.Parent != base {
			t.Errorf("epoch %d updates %v to %v, want a new policy from the base", k, got.Parent, got.Policy)
		}
	}
	if got := read(t, r, run.Slots(2)).System.Version; got != 0 {
		t.Errorf("epoch 2 is rolled out by version %d, want 0", got)
	}
	if end.Best != 0 {
		t.Errorf("the best epoch is %d, want none", end.Best)
	}
}
