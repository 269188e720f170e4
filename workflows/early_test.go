package workflows_test

import (
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/activities/grade"
	"github.com/collabui/collabui/activities/rollout"
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

// aShard returns where the shard of an early epoch can be played, which is told after half a minute that the older of
// the two before it has ended, and the priorities of its activities.
func aShard() (*testsuite.TestWorkflowEnvironment, *priorities) {
	var ts testsuite.WorkflowTestSuite
	ts.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env, p := ts.NewTestWorkflowEnvironment(), &priorities{seen: map[string][]int{}}
	env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{p}})
	env.RegisterActivity(&rollout.Rollouts{})
	env.RegisterActivity(&grade.Models{})
	env.OnActivity("CreditAndPairing", mock.Anything, mock.Anything).Return(grade.Paired{}, nil)
	env.RegisterDelayedCallback(func() { env.SignalWorkflow("turn", 1) }, 30*time.Second)

	return env, p
}

// TestTheEpisodesOfAnEarlyEpochGoLast gives a shard of such an epoch, which two others precede, its turn in the second
// of four episodes, and tells it in the first that the older of the two has ended.
func TestTheEpisodesOfAnEarlyEpochGoLast(t *testing.T) {
	t.Parallel()
	env, p := aShard()
	env.OnActivity("Rollout", mock.Anything, mock.Anything).After(time.Minute).Return(rollout.Played{}, nil)
	env.RegisterDelayedCallback(func() { env.SignalWorkflow("turn", 0) }, 90*time.Second)
	env.ExecuteWorkflow(workflows.Shard, workflows.ShardInput{
		Run: "r", Epoch: 3, From: 1, To: 4, Window: 1, Behind: 2,
	})
	if err := env.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	want := map[string][]int{"Rollout": {5, 4, 0, 0}, "CreditAndPairing": {0, 0, 0, 0}}
	if !maps.EqualFunc(p.seen, want, slices.Equal) {
		t.Errorf("the activities have the priorities %v, want %v", p.seen, want)
	}
}

// TestARolloutThatWaitsLongGetsANewPriority lets no worker take an episode of an early epoch, whose turn it is
// meanwhile. The shard is drained before anybody takes the next one.
func TestARolloutThatWaitsLongGetsANewPriority(t *testing.T) {
	t.Parallel()
	env, p := aShard()
	late := temporal.NewTimeoutError(enums.TIMEOUT_TYPE_SCHEDULE_TO_START, nil)
	slot := func(n int) any { return activities.SlotID{Run: "r", Epoch: 3, Slot: n} }
	env.OnActivity("Rollout", mock.Anything, slot(1)).After(time.Minute).Return(rollout.Played{}, late).Once()
	env.OnActivity("Rollout", mock.Anything, slot(1)).Return(rollout.Played{}, nil).Once()
	env.OnActivity("Rollout", mock.Anything, slot(2)).After(time.Minute).Return(rollout.Played{}, late).Once()
	env.RegisterDelayedCallback(func() { env.SignalWorkflow("drain", true) }, 90*time.Second)
	env.ExecuteWorkflow(workflows.Shard, workflows.ShardInput{
		Run: "r", Epoch: 3, From: 1, To: 3, Window: 1, Behind: 2,
	})
	var whole workflows.Tally
	if err := env.GetWorkflowResult(&whole); err != nil || whole.Done != 1 {
		t.Errorf("the shard ended with %+v, %v; want the first of three slots played", whole, err)
	}
	if want := []int{5, 4, 4}; !slices.Equal(p.seen["Rollout"], want) {
		t.Errorf("the rollouts have the priorities %v, want %v", p.seen["Rollout"], want)
	}
}
