package workflows_test

import (
	"context"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"

	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/test/kit/testrun"
	"github.com/collabui/collabui/workflows"
)

// TestAPauseHoldsWhateverTheRunDoes pauses a run when an activity begins that plays many episodes or asks models, and
// looks an hour later: only episodes that had begun have ended.
func TestAPauseHoldsWhateverTheRunDoes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		at     string
		change func(*spec.Spec)
	}{
		"demonstrations": {"Demonstrate", func(s *spec.Spec) { s.FineTune.Demonstrations = 80 }},
		"exploration": {"Explore", func(s *spec.Spec) {
			s.FineTune.Demonstrations, s.FineTune.Levels = 80, []int{2}
		}},
		"val":      {"Evaluate", func(s *spec.Spec) { s.Evaluation.Val = 80 }},
		"rollouts": {"Rollout", func(s *spec.Spec) { s.Slots = 80 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := testrun.Tiny()
			c.change(&s)
			r := testrun.New(t, s)
			r.Suite.Latency = 20 * time.Millisecond
			began, later := -1, -1
			end, err := r.Play(t, func(env *testsuite.TestWorkflowEnvironment) {
				atFirst(env, c.at, func() {
					if began >= 0 {
						return
					}
					ann := workflows.Command{Who: "ann", Why: "lunch"}
					env.UpdateWorkflow(workflows.UpdatePause, "", &testsuite.TestUpdateCallback{
						OnAccept: func() {}, OnReject: func(err error) { t.Errorf("pause: %v, want it accepted", err) },
						OnComplete: func(any, error) { began = r.Suite.Played() },
					}, ann)
					env.RegisterDelayedCallback(func() {
						later = r.Suite.Played()
						wantHeld(t, status(t, env), "ann: lunch")
						send(t, env, workflows.UpdateResume, ann)
					}, time.Hour)
				})
			})
			if err != nil || end.FinalDigest == "" {
				t.Fatalf("the run ended with %+v, %v, want its end", end, err)
			}
			const places = 4
			if began < 0 || later-began > places {
				t.Errorf("%d episodes had begun when the run was paused, and %d an hour later; want at most %d more",
					began, later, places)
			}
			if r.Suite.Played() <= later {
				t.Errorf("%d episodes had begun in all, %d by the resume, want some after it", r.Suite.Played(), later)
			}
			clean(t, r)
		})
	}
}

// TestARunThatIsStartedAgainIsResumed: who trains a run wants it to continue, although it was paused or stopped before.
func TestARunThatIsStartedAgainIsResumed(t *testing.T) {
	t.Parallel()
	for _, verb := range []runs.Verb{runs.VerbPause, runs.VerbStop} {
		t.Run(string(verb), func(t *testing.T) {
			t.Parallel()
			r := testrun.New(t, testrun.Tiny())
			run := runs.Run(r.Spec.Name)
			before := runs.Change{Verb: verb, Who: "ben", Why: "lunch", At: time.Now().Add(-time.Hour)}
			if _, err := run.Append(t.Context(), r.Bucket, before); err != nil {
				t.Fatal(err)
			}
			if end := play(t, r); end.FinalDigest == "" {
				t.Errorf("the run ended with %+v, want its digest", end)
			}
			all, err := run.Changes(t.Context(), r.Bucket, 0, 0)
			if n := len(all); err != nil || n != 2 || all[n-1].Verb != runs.VerbResume {
				t.Errorf("the changes are %+v, %v; want a %s, and then a resume", all, err, verb)
			}
		})
	}
}

// TestAChildThatSomebodyCancelledHoldsTheRun cancels one of a run's workflows, as a person can in the Temporal UI.
func TestAChildThatSomebodyCancelledHoldsTheRun(t *testing.T) {
	t.Parallel()
	whole, _ := watched(t, func(*spec.Spec) {})
	want := play(t, whole).FinalDigest

	for _, id := range []string{"/epoch/0001", "/epoch/0001/shard/0001", "/eval/0001-val"} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			r, _ := watched(t, func(*spec.Spec) {})
			cancelled, asked := false, false
			end, err := r.Play(t, func(env *testsuite.TestWorkflowEnvironment) {
				env.SetOnActivityStartedListener(func(i *activity.Info, _ context.Context, _ converter.EncodedValues) {
					if !cancelled && i.WorkflowExecution.ID == r.Spec.Name+id {
						cancelled = true
						env.RegisterDelayedCallback(func() { env.CancelWorkflowByID(r.Spec.Name+id, "") }, 0)
					}
				})
				env.RegisterDelayedCallback(func() {
					if asked || !status(t, env).Held {
						return
					}
					asked = true
					wantHeld(t, status(t, env), "somebody cancelled the workflow "+r.Spec.Name+id, "collabui resume")
					send(t, env, workflows.UpdateResume, workflows.Command{Who: "ann", Why: "an accident"})
				}, time.Hour)
			})
			if err != nil || !asked || end.FinalDigest != want {
				t.Errorf("the run ended with %s, %v (cancelled: %v), want %s", end.FinalDigest, err, asked, want)
			}
			clean(t, r)
		})
	}
}
