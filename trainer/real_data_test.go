package trainer_test

import (
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/webtasks"
	"github.com/collabui/collabui/internal/method/credit"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/test/kit/testrun"
)

// dataOfARun plays a small run in a real browser and returns what its stage 1 and its first epoch trained on.
func dataOfARun(t *testing.T) (demos, pairs []domain.Example) {
	t.Helper()

	s := testrun.Small()
	s.Epochs, s.FineTune.Demonstrations, s.FineTune.MaxChunks = 1, 40, 3
	s.Evaluation.Val, s.Evaluation.TestSeeds, s.Evaluation.TestTemplates = 4, 0, 0
	r := testrun.Learning(t, s)
	suite, err := webtasks.New(envadapters.Options{}, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = suite.Close() })
	r.Deps.Suites = map[string]envadapters.Suite{"webtasks": suite}
	if _, err := r.Play(t, nil); err != nil {
		t.Fatal(err)
	}

	for i := range s.FineTune.Demonstrations {
		d, _, err := runs.Run(s.Name).Demonstration(i).Must(t.Context(), r.Bucket)
		if err != nil {
			t.Fatal(err)
		}
		demos = append(demos, d.Pairs...)
	}
	for slot := 1; slot <= s.Slots; slot++ {
		p, _, err := runs.Run(s.Name).Pairs(1, slot).Must(t.Context(), r.Bucket)
		if err != nil {
			t.Fatal(err)
		}
		pairs = append(pairs, p.Pairs...)
	}
	if len(demos) < 16 || len(pairs) < 16 {
		t.Fatalf("%d demonstrations and %d pairs, want at least 16 of each", len(demos), len(pairs))
	}

	several := 0
	for i, p := range pairs[1:] {
		if last := pairs[i]; p.Agent == last.Agent && p.Prompt == last.Prompt && p.Chosen == last.Chosen {
			several++
		}
	}
	if several == 0 {
		t.Error("every right answer has one rejected answer, want some to have several")
	}
	credit.Balance(pairs, s.Pairs.MaxWeight)
	credit.BalanceTypes(pairs)

	return demos, pairs
}
