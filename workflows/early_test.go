package workflows_test

import (
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/testsuite"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/workflows"
)

// TestTheLastEpisodesOfAnEpochHaveTheOneAfterTheNextBesideThem holds an episode of epoch 2 back, which rolls out beside
// the updates of epoch 1. When that is committed, epoch 3 fills the places that are free.
func TestTheLastEpisodesOfAnEpochHaveTheOneAfterTheNextBesideThem(t *testing.T) {
	t.Parallel()
	r, order := watched(t, stale)
	slow := runs.Run(r.Spec.Name).Pairs(2, r.Spec.Slots).Key
	order.hold(slow, pairsPrefix(r, 3))
	play(t, r)
	if n := order.beside(pairsPrefix(r, 3), slow); n < 1 {
		t.Errorf("%d slots of epoch 3 were played before the last of epoch 2, want some", n)
	}
}

// TestAnEpochRollsOutBesideTheEvaluationOfTheOneBeforeTheLast holds the evaluation of epoch 1 back, on which nothing
// depends, although epoch 2 waits for its commit.
func TestAnEpochRollsOutBesideTheEvaluationOfTheOneBeforeTheLast(t *testing.T) {
	t.Parallel()
	r, order := watched(t, stale)
	run := runs.Run(r.Spec.Name)
	val := run.Result(rules.EvalID(rules.EpochFolder(1), rules.TrainedName(r.Spec.Agents), domain.SplitVal)).Key
	order.hold(val, pairsPrefix(r, 3))
	play(t, r)
	if n := order.beside(pairsPrefix(r, 3), val); n < 1 {
		t.Errorf("%d slots of epoch 3 were played before epoch 1 was evaluated, want some", n)
	}
	if n := order.beside(pairsPrefix(r, 3), run.Update(1, 0).Key); n != 0 {
		t.Errorf("%d slots of epoch 3 were played before the policies of epoch 1 were trained, want none", n)
	}
}

// TestAnEpochThatBeganEarlyEndsIfTheRunHasFewer lowers epochs while the next one is rolled out.
func TestAnEpochThatBeganEarlyEndsIfTheRunHasFewer(t *testing.T) {
	t.Parallel()
	r, _ := watched(t, stale)
	end, err := r.Play(t, func(env *testsuite.TestWorkflowEnvironment) {
		atFirst(env, "PlanAhead", func() {
			ask(env, workflows.SetCommand{
				Command: workflows.Command{Who: "ann", Why: "enough"}, Values: map[string]string{"epochs": "1"},
			})
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	run := runs.Run(r.Spec.Name)
	if n, err := run.Committed(t.Context(), r.Bucket); err != nil || n != 1 || end.Best != 1 {
		t.Errorf("%d epochs are committed (the best: %d), %v; want 1", n, end.Best, err)
	}
}

// TestAPauseHoldsTheEpochThatBeganEarly pauses a run for an hour while two epochs roll out.
func TestAPauseHoldsTheEpochThatBeganEarly(t *testing.T) {
	t.Parallel()
	slow := func(s *spec.Spec) {
		stale(s)
		s.Slots, s.Window, s.Epochs = 12, 1, 2
	}
	whole, _ := watched(t, slow)
	want := play(t, whole).FinalDigest

	r, order := watched(t, slow)
	held := false
	end, err := r.Play(t, func(env *testsuite.TestWorkflowEnvironment) {
		atFirst(env, "PlanAhead", func() {
			if id := status(t, env).Next; !strings.HasSuffix(id, "/epoch/0002") {
				t.Errorf("beside epoch 1 the run has %q, want epoch 2", id)
			}
			send(t, env, workflows.UpdatePause, workflows.Command{Who: "ann", Why: "lunch"})
			env.RegisterDelayedCallback(func() {
				held = true
				for epoch := 1; epoch <= 2; epoch++ {
					if n := order.count(pairsPrefix(r, epoch)); n >= r.Spec.Slots {
						t.Errorf("after an hour's pause %d slots of epoch %d are played, want fewer", n, epoch)
					}
				}
				send(t, env, workflows.UpdateResume, workflows.Command{Who: "ann", Why: "back"})
			}, time.Hour)
		})
	})
	if err != nil || end.FinalDigest != want || !held {
		t.Errorf("the run ended with %s, %v (held: %v), want %s", end.FinalDigest, err, held, want)
	}
}
