package workflows_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/activities/guard"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/test/kit/testrun"
	"github.com/collabui/collabui/trainer"
	"github.com/collabui/collabui/workflows"
)

// snapshot returns the objects of a store.
func snapshot(t *testing.T, b *store.Memory) map[string][]byte {
	t.Helper()
	all, err := b.List(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for _, o := range all {
		if out[o.Key], err = b.Get(t.Context(), o.Key); err != nil {
			t.Fatal(err)
		}
	}

	return out
}

// setBack gives a store the objects that it had at a snapshot, and no others.
func setBack(t *testing.T, b *store.Memory, to map[string][]byte) {
	t.Helper()
	for key := range snapshot(t, b) {
		if _, kept := to[key]; !kept {
			b.Damage(key, nil)
		}
	}
	for key, body := range to {
		b.Damage(key, body)
	}
}

// brokenIn is a trainer whose first job of an epoch needs a person.
type brokenIn struct {
	trainer.Trainer
	job  string
	once atomic.Bool
}

func (x *brokenIn) Train(ctx context.Context, j trainer.Job, p trainer.Progress) (trainer.Result, error) {
	if strings.Contains(j.ID, x.job) && !x.once.Swap(true) {
		return trainer.Result{}, fault.New(fault.Invalid, "the disk is full")
	}

	return x.Trainer.Train(ctx, j, p)
}

// TestARunContinuesOnAStoreThatWasRestored: while a run waits in epoch 2, its store is replaced by a backup in which
// epoch 1 is not committed.
func TestARunContinuesOnAStoreThatWasRestored(t *testing.T) {
	t.Parallel()
	whole, _ := watched(t, func(*spec.Spec) {})
	want := play(t, whole).FinalDigest

	r, _ := watched(t, func(*spec.Spec) {})
	broken := &brokenIn{Trainer: r.Deps.Trainers[spec.Embedded], job: "epochs/0002"}
	r.Deps.Trainers[spec.Embedded] = broken
	run, asked := runs.Run(r.Spec.Name), false
	end, err := r.Play(t, func(env *testsuite.TestWorkflowEnvironment) {
		env.RegisterDelayedCallback(func() {
			if asked || !status(t, env).Held {
				return
			}
			asked = true
			wantHeld(t, status(t, env), "the disk is full")
			first := []string{run.Epoch(1).Key, run.Slots(1).Key, run.Update(1, 0).Key}
			for _, prefix := range append(first, pairsPrefix(r, 2)) {
				remove(t, r.Bucket, prefix)
			}
			send(t, env, workflows.UpdateResume, workflows.Command{Who: "ann", Why: "the store is back"})
		}, time.Hour)
	})
	if err != nil || !asked || end.FinalDigest != want {
		t.Errorf("the run ended with %s, %v (held: %v), want %s", end.FinalDigest, err, asked, want)
	}
	clean(t, r)
}

// remove deletes the objects whose keys begin with a prefix.
func remove(t *testing.T, b *store.Memory, prefix string) {
	t.Helper()
	all, err := b.List(t.Context(), prefix)
	if err != nil || len(all) == 0 {
		t.Errorf("%d objects under %s, %v; want some to remove", len(all), prefix, err)
	}
	for _, ref := range all {
		if err := b.Delete(t.Context(), ref.Key); err != nil {
			t.Error(err)
		}
	}
}

// TestACommandThatTemporalForgotHoldsTheRun: the store knows of a pause that a restored Temporal does not.
func TestACommandThatTemporalForgotHoldsTheRun(t *testing.T) {
	t.Parallel()
	for _, verb := range []runs.Verb{runs.VerbPause, runs.VerbStop, runs.VerbResume} {
		t.Run(string(verb), func(t *testing.T) {
			t.Parallel()
			s := testrun.Tiny()
			r := testrun.New(t, s)
			forgotten := runs.Change{
				Who: "ann", Why: "the app changes", Verb: verb, At: time.Now().Add(24 * time.Hour).UTC(),
			}
			if _, err := runs.Run(s.Name).Append(t.Context(), r.Bucket, forgotten); err != nil {
				t.Fatal(err)
			}
			looked := false
			end, err := r.Play(t, func(env *testsuite.TestWorkflowEnvironment) {
				if looked || verb == runs.VerbResume {
					return
				}
				looked = true
				env.RegisterDelayedCallback(func() {
					wantHeld(t, status(t, env), string(verb)+" by ann", "the app changes", "older", "resume")
					send(t, env, workflows.UpdateResume, workflows.Command{Who: "ben"})
				}, time.Hour)
			})
			if err != nil || end.FinalDigest == "" || looked != (verb != runs.VerbResume) {
				t.Errorf("the run ended with %q, %v, held: %v, want its end after a resume", end.FinalDigest, err,
					looked)
			}
		})
	}
}

// TestTheBaseIsEvaluatedAgainIfTheStoreLacksThat: the store was set back while the first epoch was open.
func TestTheBaseIsEvaluatedAgainIfTheStoreLacksThat(t *testing.T) {
	t.Parallel()
	want := play(t, testrun.New(t, testrun.Tiny()))
	r := testrun.New(t, testrun.Tiny())
	lost := 0
	end, err := r.Play(t, func(env *testsuite.TestWorkflowEnvironment) {
		atFirst(env, "PlanFinal", func() {
			for _, system := range []string{rules.NameBaseGreedy, rules.NameBaseWarm} {
				id := rules.EvalID(rules.EpochFolder(0), system, domain.SplitVal)
				r.Bucket.Damage(runs.Run(r.Spec.Name).Result(id).Key, nil)
				lost++
			}
		})
	})
	if err != nil || end.FinalDigest != want.FinalDigest || lost != 2 {
		t.Errorf("the run ended with %s, %v after %d results were lost, want %s", end.FinalDigest, err, lost,
			want.FinalDigest)
	}
	clean(t, r)
}

// TestAPauseAtTheMomentOfTheStartHoldsTheRun: nobody knows which of them was first, and the workers see the pause.
func TestAPauseAtTheMomentOfTheStartHoldsTheRun(t *testing.T) {
	t.Parallel()
	r := testrun.New(t, testrun.Tiny())
	pause := runs.Change{Who: "ann", Why: "the app changes", Verb: runs.VerbPause, At: time.Now().UTC()}
	if _, err := runs.Run(r.Spec.Name).Append(t.Context(), r.Bucket, pause); err != nil {
		t.Fatal(err)
	}
	looked, env := false, r.Environment()
	env.RegisterDelayedCallback(func() {
		looked = true
		wantHeld(t, status(t, env), "pause by ann", "the app changes", "resume")
		send(t, env, workflows.UpdateResume, workflows.Command{Who: "ben"})
	}, time.Hour)
	env.ExecuteWorkflow(workflows.Run, workflows.RunInput{Name: r.Spec.Name, Asked: pause.At})
	if err := env.GetWorkflowError(); !workflow.IsContinueAsNewError(err) || !looked {
		t.Errorf("the run ended with %v, want it to be held until the resume, and to continue as new", err)
	}
}

// claimOf returns the claim of a namespace, without the store.
func claimOf(namespace string) runs.Claim {
	return runs.Claim{Namespace: namespace, Name: "collabui", Address: namespace + ".example:7233", Who: "ann"}
}

// workIn makes the workers of a run those of a namespace. They are new processes for each workflow of the run.
func workIn(r *testrun.Run, namespace string) {
	r.Deps.Guard = func() *guard.Guard {
		return &guard.Guard{Bucket: r.Bucket, Where: "memory", Claim: claimOf(namespace)}
	}
}

// claim starts a run in a namespace, as `train` does.
func claim(t *testing.T, r *testrun.Run, namespace string) {
	t.Helper()
	c := claimOf(namespace)
	own, err := store.Identify(t.Context(), r.Bucket)
	if c.Store = own.ID; err == nil {
		_, err = runs.Run(r.Spec.Name).Take(t.Context(), r.Bucket, c)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestARunThatTwoTemporalsDriveContinuesInTheOneThatStartedItLast starts a run on a second Temporal after its first
// epoch. The first one is held at once, and the second ends with the digest of an undisturbed run.
func TestARunThatTwoTemporalsDriveContinuesInTheOneThatStartedItLast(t *testing.T) {
	t.Parallel()
	s := threeEpochs()
	want := play(t, testrun.WithBase(t, s))

	r := testrun.WithBase(t, s)
	claim(t, r, "one")
	workIn(r, "one")
	plays := 0
	_, err := r.Play(t, func(env *testsuite.TestWorkflowEnvironment) {
		if plays++; plays != 2 {
			return
		}
		claim(t, r, "two")
		env.RegisterDelayedCallback(func() {
			wantHeld(t, status(t, env), "one.example:7233", "two.example:7233", "collabui train small")
			env.CancelWorkflow()
		}, time.Hour)
	})
	if err == nil {
		t.Error("the run ended in the first Temporal, want it held")
	}
	if n, err := runs.Run(s.Name).Committed(t.Context(), r.Bucket); err != nil || n != 1 {
		t.Errorf("%d epochs are committed, %v, want 1", n, err)
	}
	workIn(r, "two")
	end, err := r.Play(t, nil)
	if err != nil || end.FinalDigest != want.FinalDigest {
		t.Errorf("the run ended with %s, %v, want %s", end.FinalDigest, err, want.FinalDigest)
	}
	clean(t, r)
}
