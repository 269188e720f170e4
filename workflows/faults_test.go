//go:build integration

package workflows_test

import (
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/credit"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/test/kit/testrun"
	"github.com/collabui/collabui/workers/catalog"
)

func TestACriticThatIsAModelLabelsLikeTheJudgeAndFaultsInventNothing(t *testing.T) {
	t.Parallel()
	plain, err := testrun.New(t, short(2)).Play(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, sound, end := graded(t, 2, 0)
	if end.FinalDigest != plain.FinalDigest {
		t.Error("a critic that is always right labels otherwise than the judge")
	}
	r, broken, _ := graded(t, 2, 0.3)
	if float64(broken.calls) > 1.6*float64(sound.calls) || len(broken.faults) != 7 {
		t.Errorf("%d calls where the clean run made %d; faults %v", broken.calls, sound.calls, broken.faults)
	}
	t.Logf("%d calls, %d of them without faults: %.2f times; %v", broken.calls, sound.calls, float64(broken.calls)/float64(sound.calls), broken.faults)
	for q, n := range broken.answered {
		if n > 1 {
			t.Errorf("a recorded call was made %d times: %s", n, q)
		}
	}
	labels, uncertain := 0, 0
	for epoch := 1; epoch <= r.Spec.Epochs; epoch++ {
		for slot := 1; slot <= r.Spec.Slots; slot++ {
			c, _, err := runs.Run(r.Spec.Name).Credits(epoch, slot).Read(t.Context(), r.Bucket)
			if err != nil {
				t.Fatal(err)
			}
			if c.Critic != "judge (grader-1)" || len(c.Audit) != len(c.Steps) {
				t.Fatalf("%s, %d audits", c.Critic, len(c.Audit))
			}
			for i, l := range c.Steps {
				st, _, err := runs.Run(r.Spec.Name).Step(epoch, slot, 1, l.Step).Read(t.Context(), r.Bucket)
				if err != nil {
					t.Fatal(err)
				}
				missing := false
				for j, truth := range credit.Oracle(st.Step).Labels {
					labels++
					switch l.Labels[j] {
					case domain.Uncertain:
						uncertain++
						missing = true
					case truth:
					default:
						t.Errorf("epoch %d, slot %d, step %d, cell %d is labelled %d, truly %d", epoch, slot, l.Step, j, l.Labels[j], truth)
					}
				}
				if missing != (len(c.Audit[i].Faults) > 0) {
					t.Errorf("epoch %d, slot %d, step %d: faults %v", epoch, slot, l.Step, c.Audit[i].Faults)
				}
			}
		}
	}
	if uncertain > labels/5 {
		t.Errorf("%d of %d labels are ∅", uncertain, labels)
	}
	calls, err := r.Bucket.List(t.Context(), "runs/small/calls/")
	if err != nil || len(calls) != len(broken.answered) {
		t.Errorf("%d recorded calls, %d answered: %v", len(calls), len(broken.answered), err)
	}
}

// TestModelsInEveryRoleUnderFaults plays synthesis, all levels and two epochs with every role by a chat server that
// answers 30 % of calls with a fault.
func TestModelsInEveryRoleUnderFaults(t *testing.T) {
	t.Parallel()
	clear := 0
	for _, share := range []float64{0, 0.3} {
		plain, g := withGrader(t, 2, share, spec.Budget{})
		s := plain.Spec
		s.Slots, s.FineTune.Demonstrations, s.Evaluation.Val = 4, 8, 2
		s.FineTune.Levels, s.FineTune.Steps = []int{1, 2, 3}, spec.LevelSteps{Level1: 5, Level2: 10, Level3: 10, Preference: 5}
		s.Synthesis = spec.Synthesis{Agent: "judge", Author: "judge", Screens: 8, KeepFirst: 0.2, Questions: 7, Instructions: 8, Pairs: 20}
		s.Adversary.Model, s.Summariser.Model = "judge", "judge"
		if err := s.Validate(catalog.All{}); err != nil {
			t.Fatal(err)
		}
		r := testrun.New(t, s)
		r.Deps.Endpoint = plain.Deps.Endpoint
		if _, err := r.Play(t, nil); err != nil {
			t.Fatal(err)
		}
		clean(t, r)
		for q, n := range g.answered {
			if n > 1 {
				t.Errorf("a recorded call was made %d times: %s", n, q)
			}
		}
		if share == 0 {
			clear = g.calls
		} else if float64(g.calls) > 1.6*float64(clear) || len(g.faults) != 7 {
			t.Errorf("%d calls where the clean run made %d; faults %v", g.calls, clear, g.faults)
		}
		t.Logf("share %.1f: %d calls, %.2f times the clean run, faults %v", share, g.calls, float64(g.calls)/float64(clear), g.faults)
		for n := 1; n <= 3; n++ {
			set, rows := level(t, r, n)
			if share > 0 {
				t.Log(set.Card.Text())
			}
			if why := set.Card.Counts.Problem(); why != "" || len(rows) < 10 {
				t.Errorf("level %d: %d rows; %s", n, len(rows), why)
			}
			for _, p := range rows {
				truth(t, n, p)
			}
		}
		labelled(t, r)
	}
}
