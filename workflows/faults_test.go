//go:build integration

package workflows_test

import (
	"reflect"
	"testing"

	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/test/kit/testrun"
)

func TestACriticThatIsAModelLabelsLikeTheJudgeAndFaultsInventNothing(t *testing.T) {
	t.Parallel()
	want := play(t, testrun.WithBase(t, short(2))).FinalDigest
	s := judged()
	s.Epochs = 2
	r, sound := withGrader(t, s, 0)
	if got := play(t, r).FinalDigest; got != want {
		t.Errorf("the digest with a critic that is always right = %s, want that with the judge, %s", got, want)
	}

	r, broken := withGrader(t, s, 0.3)
	play(t, r)
	broken.wantFewRepeats(t, sound.calls)
	broken.wantEveryMisbehaviour(t)
	broken.wantCallsOnce(t)
	if labels, uncertain := wantTrueLabels(t, r); uncertain > labels/5 {
		t.Errorf("%d of %d labels are ∅, want at most a fifth", uncertain, labels)
	}
	wantFaultsAudited(t, r)

	calls, err := r.Bucket.List(t.Context(), "runs/small/calls/")
	if err != nil {
		t.Fatal(err)
	}
	if len(calls) != len(broken.answered) {
		t.Errorf("%d calls are recorded, want the %d that were answered", len(calls), len(broken.answered))
	}
}

// wantFaultsAudited checks that exactly the steps with a label ∅ have faults in their audit.
func wantFaultsAudited(t *testing.T, r *testrun.Run) {
	t.Helper()
	for epoch := 1; epoch <= r.Spec.Epochs; epoch++ {
		for slot := 1; slot <= r.Spec.Slots; slot++ {
			c := read(t, r, runs.Run(r.Spec.Name).Credits(epoch, slot))
			if c.Critic != "judge (grader-1)" || len(c.Audit) != len(c.Steps) {
				t.Fatalf("%d audits of %d steps by %q, want one each by judge (grader-1)",
					len(c.Audit), len(c.Steps), c.Critic)
			}
			for i, l := range c.Steps {
				_, uncertain := wantTrueStep(t, r, epoch, slot, l)
				if faults := c.Audit[i].Faults; (uncertain > 0) != (len(faults) > 0) {
					t.Errorf("epoch %d, slot %d, step %d has %d labels ∅ and the faults %v, want both or neither",
						epoch, slot, l.Step, uncertain, faults)
				}
			}
		}
	}
}

// TestModelsInEveryRoleUnderFaults plays synthesis, all levels and two epochs with a chat server in every role, first
// without faults, then with 30 % of its calls failing.
func TestModelsInEveryRoleUnderFaults(t *testing.T) {
	t.Parallel()
	s := judged()
	s.Epochs, s.Slots, s.FineTune.Demonstrations, s.Evaluation.Val = 2, 4, 8, 2
	s.FineTune.Levels = []int{1, 2, 3}
	s.FineTune.Steps = spec.LevelSteps{Level1: 5, Level2: 10, Level3: 10, Preference: 5}
	s.Synthesis = spec.Synthesis{
		Agent: "judge", Author: "judge", Screens: 8, KeepFirst: 0.2, Questions: 7, Instructions: 8, Pairs: 20,
	}
	s.Adversary.Model, s.Summariser.Model = "judge", "judge"
	s.FailedShare = 0.3 // an answer and its repair may both be of no use: a run pauses when too many are

	r, sound := withGrader(t, s, 0)
	play(t, r)
	sound.wantCallsOnce(t)
	wantSpending(t, r)
	wantTrueLevels(t, r)
	wantTrueLabels(t, r)

	r, broken := withGrader(t, s, 0.3)
	play(t, r)
	broken.wantFewRepeats(t, sound.calls)
	broken.wantEveryMisbehaviour(t)
	broken.wantCallsOnce(t)
	wantTrueLevels(t, r)
	wantTrueLabels(t, r)
}

// wantSpending checks that calls are recorded with the epochs that they were made for; 0 is stage 1, whose level 3 has
// pairs, too.
func wantSpending(t *testing.T, r *testrun.Run) {
	t.Helper()
	all, err := runs.Run(r.Spec.Name).Spending(t.Context(), r.Bucket)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]int{}
	for _, s := range all {
		got[s.Role] = append(got[s.Role], s.Epoch)
	}
	want := map[string][]int{
		"agent": {0}, "questions": {0}, "instructions": {0},
		"critic": {0, 1, 2}, "adversary": {0, 1, 2}, "summariser": {0, 1, 2},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("calls by role are of the epochs %v, want %v", got, want)
	}
}

// wantTrueLevels checks that the counters of all levels add up, and that every row is true.
func wantTrueLevels(t *testing.T, r *testrun.Run) {
	t.Helper()
	for n := 1; n <= 3; n++ {
		set, rows := level(t, r, n)
		t.Log(set.Card.Text())
		if why := set.Card.Counts.Problem(); why != "" {
			t.Errorf("the counters of level %d: %s, want them to add up", n, why)
		}
		if len(rows) < 10 {
			t.Errorf("level %d has %d rows, want at least 10", n, len(rows))
		}
		for _, p := range rows {
			wantTrueRow(t, n, p)
		}
	}
}
