package workflows_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/activities/lifecycle"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/test/kit/testrun"
	"github.com/collabui/collabui/workflows"
)

// when calls f once a condition holds. While an activity runs, the clock of the workflows is that of the test.
func when(env *testsuite.TestWorkflowEnvironment, holds func() bool, f func()) {
	env.RegisterDelayedCallback(func() {
		if !holds() {
			when(env, holds, f)

			return
		}
		f()
	}, 10*time.Millisecond)
}

// TestARunThatIsHeldHoldsTheEpochThatBeganEarly lets a run be held after epoch 1, while
// epoch 2 is in its third episode.
func TestARunThatIsHeldHoldsTheEpochThatBeganEarly(t *testing.T) {
	t.Parallel()
	r, order := watched(t, func(s *spec.Spec) {
		stale(s)
		s.Slots, s.Window, s.Epochs = 12, 1, 2
	})
	var free atomic.Bool
	order.held, order.until = runs.Run(r.Spec.Name).Pairs(2, 3).Key, free.Load
	command := workflows.Command{Who: "ann", Why: "it is no template"}
	asked, refused := false, false
	_, err := r.Play(t, func(env *testsuite.TestWorkflowEnvironment) {
		env.SetOnActivityCompletedListener(func(i *activity.Info, _ converter.EncodedValue, err error) {
			refused = refused || i.ActivityType.Name == "PlanRun" && err != nil
		})
		atFirst(env, "PlanAhead", func() {
			ask(env, workflows.SetCommand{Command: command, Values: map[string]string{"quarantine": "[nowhere]"}})
			when(env, func() bool { return refused }, func() { free.Store(true) }) // the open episode may end now
			env.RegisterDelayedCallback(func() {
				asked = true
				wantHeld(t, status(t, env), "nowhere")
				if n := order.count(pairsPrefix(r, 2)); n > 3 {
					t.Errorf("an hour after the run was held, %d slots of epoch 2 are played, want 3", n)
				}
				ask(env, workflows.SetCommand{Command: command, Values: map[string]string{"quarantine": "[]"}})
				env.RegisterDelayedCallback(func() {
					send(t, env, workflows.UpdateResume, command)
				}, time.Minute)
			}, time.Hour)
		})
	})
	if err != nil || !asked {
		t.Errorf("the run ended with %v (held: %v), want an end after it was held", err, asked)
	}
	clean(t, r)
}

// TestAnEpochThatBeginsEarlyHasTheNewestValues changes window and slots while epochs 1 and 2 are played. Epoch 3 begins
// beside the evaluation of epoch 1.
func TestAnEpochThatBeginsEarlyHasTheNewestValues(t *testing.T) {
	t.Parallel()
	r, order := watched(t, stale)
	order.hold(runs.Run(r.Spec.Name).Epoch(1).Key, pairsPrefix(r, 3))
	begun := map[int]workflows.ShardInput{}
	var p workflows.Progress
	_, err := r.Play(t, func(env *testsuite.TestWorkflowEnvironment) {
		atFirst(env, "PlanAhead", func() {
			ask(env, workflows.SetCommand{
				Command: workflows.Command{Who: "ann", Why: "small"},
				Values:  map[string]string{"window": "2", "slots": "4"},
			})
		})
		env.SetOnChildWorkflowStartedListener(func(i *workflow.Info, _ workflow.Context, args converter.EncodedValues) {
			var in workflows.ShardInput
			if i.WorkflowType.Name != "Shard" || args.Get(&in) != nil {
				return
			}
			begun[in.Epoch] = in
			env.RegisterDelayedCallback(func() {
				v, err := env.QueryWorkflowByID(r.Spec.Name+"/epoch/0003", workflows.QueryProgress)
				if in.Epoch != 3 || err == nil && v.Get(&p) == nil {
					return
				}
				t.Errorf("the progress of epoch 3: %v, want it", err)
			}, 0)
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	if in := begun[3]; in.Window != 2 || in.To != 4 || p.Slots != 4 {
		t.Errorf("epoch 3 began with %+v and shows %d slots; want a window of 2 and 4 slots", in, p.Slots)
	}
	if n := order.beside(pairsPrefix(r, 3), runs.Run(r.Spec.Name).Epoch(1).Key); n < 1 {
		t.Errorf("%d slots of epoch 3 were played before epoch 1 was committed, want some", n)
	}
}

// TestNoValueIsLearntFromEpisodesThatArePlayedAgain lets all slots of epoch 2 fail before it is its turn. Then a person
// has them played again, and the value of epoch 3 is learnt from them.
func TestNoValueIsLearntFromEpisodesThatArePlayedAgain(t *testing.T) {
	t.Parallel()
	r, order := watched(t, func(s *spec.Spec) {
		stale(s)
		s.Credit, s.Preference = spec.CreditAdvantage, spec.PreferenceRFT
	})
	run := runs.Run(r.Spec.Name)
	suite := &sickly{Suite: r.Suite}
	suite.mended.Store(true)
	r.Deps.Suites["webtasks"] = suite
	var free atomic.Bool
	order.held, order.until = run.Update(1, 0).Key, free.Load
	asked := false
	_, err := r.Play(t, func(env *testsuite.TestWorkflowEnvironment) {
		env.SetOnChildWorkflowStartedListener(func(i *workflow.Info, _ workflow.Context, _ converter.EncodedValues) {
			if i.WorkflowExecution.ID == r.Spec.Name+"/epoch/0003" && !suite.mended.Load() {
				t.Error("epoch 3 began before the slots of epoch 2 were played again, want it to wait")
			}
		})
		failed := func() bool {
			var p workflows.Progress
			v, err := env.QueryWorkflowByID(r.Spec.Name+"/epoch/0002", workflows.QueryProgress)

			return err == nil && v.Get(&p) == nil && p.Failed == r.Spec.Slots
		}
		held := func() bool { return status(t, env).Held }
		atFirst(env, "PlanAhead", func() { // of epoch 2
			suite.mended.Store(false)
			when(env, failed, func() {
				free.Store(true)
				when(env, held, func() {
					asked = true
					wantHeld(t, status(t, env), "6 of 6 slots of epoch 2")
					suite.mended.Store(true)
					if _, err := run.Retry(context.Background(), r.Bucket, 2); err != nil {
						t.Error(err)
					}
					send(t, env, workflows.UpdateResume, workflows.Command{Who: "test", Why: "mended"})
				})
			})
		})
	})
	if err != nil || !asked {
		t.Fatalf("the run ended with %v (held: %v), want an end after it was held", err, asked)
	}
	if got := read(t, r, run.Value(3)).Episodes; got != 2*r.Spec.Slots {
		t.Errorf("the value of epoch 3 is learnt from %d episodes, want %d", got, 2*r.Spec.Slots)
	}
}

// TestAnEpochIsPlannedAheadAfterTheOneBefore: what people change between the two would otherwise count in the earlier
// one only.
func TestAnEpochIsPlannedAheadAfterTheOneBefore(t *testing.T) {
	t.Parallel()
	s := threeEpochs()
	stale(&s)
	r, run := testrun.New(t, s), runs.Run(s.Name)
	base := func() (runs.Base, error) { return runs.Base{}, nil }
	if _, _, err := run.Base().Record(t.Context(), r.Bucket, base); err != nil {
		t.Fatal(err)
	}
	ahead := func(epoch int) int {
		p, err := r.Control().PlanAhead(t.Context(), activities.EpochID{Run: s.Name, Epoch: epoch})
		if err != nil {
			t.Fatal(err)
		}

		return p.Slots
	}
	if _, err := r.Control().PlanRun(t.Context(), lifecycle.RunID{Run: r.Spec.Name}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Control().PlanEpoch(t.Context(), activities.EpochID{Run: s.Name, Epoch: 1}); err != nil {
		t.Fatal(err)
	}
	if n := ahead(3); n != 0 {
		t.Errorf("epoch 3 is planned with %d slots before epoch 2 is, want it to wait", n)
	}
	if there, err := run.Made(3).Exists(t.Context(), r.Bucket); err != nil || there {
		t.Errorf("it is recorded with what epoch 3 began: %v, %v; want nothing recorded", there, err)
	}
	if n := ahead(2); n != s.Slots {
		t.Errorf("epoch 2 is planned with %d slots, want %d", n, s.Slots)
	}
}
