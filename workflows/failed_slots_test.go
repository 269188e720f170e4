package workflows_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/sdk/testsuite"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/scripted"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/test/kit/testrun"
	"github.com/collabui/collabui/workflows"
)

// TestInfrastructureNeverFailsASlot breaks an environment that cannot replay more often than one activity begins anew.
func TestInfrastructureNeverFailsASlot(t *testing.T) {
	t.Parallel()
	s := testrun.Tiny()
	task := planned(t, s, 4)
	r := testrun.WithBase(t, s)
	r.Suite.Break(scripted.Fault{
		Template: task.Template, Seed: task.Seed, Step: 2, Kind: scripted.Void, Times: 30,
	})
	r.Deps.Suites["webtasks"] = forgetful{r.Suite}
	play(t, r)

	got := attempts(t, r, 4)
	if last := got[len(got)-1]; len(got) < 20 || last.Failed != "" || last.Void != "" {
		t.Errorf("slot 4 ended after %d attempts with %+v, want a whole episode after the environment works again",
			len(got), last)
	}
}

// sickly is a suite of which no training task can be played until it is mended.
type sickly struct {
	*scripted.Suite
	mended atomic.Bool
}

func (x *sickly) Open(ctx context.Context) (envadapters.Environment, error) {
	e, err := x.Suite.Open(ctx)

	return sick{e.(whole), x}, err
}

// whole is everything that an environment of the scripted suite can do.
type whole interface {
	envadapters.Environment
	envadapters.Judge
	envadapters.Expert
	envadapters.Replayable
}

type sick struct {
	whole
	of *sickly
}

func (x sick) Reset(ctx context.Context, t domain.Task) (envadapters.Transition, error) {
	if t.Split == domain.SplitTrain && !x.of.mended.Load() {
		return envadapters.Transition{}, fault.New(fault.Invalid, "%w: the page is gone", envadapters.ErrTask)
	}

	return x.whole.Reset(ctx, t)
}

// broken returns a run of which no training task can be played until mend is called.
func broken(t *testing.T) (r *testrun.Run, mend func()) {
	t.Helper()
	r = testrun.WithBase(t, testrun.Tiny())
	suite := &sickly{Suite: r.Suite}
	r.Deps.Suites["webtasks"] = suite

	return r, func() { suite.mended.Store(true) }
}

func TestFailedSlotsArePlayedAgainWhenAPersonSaysSo(t *testing.T) {
	t.Parallel()
	r, mend := broken(t)
	run := runs.Run(r.Spec.Name)
	var held workflows.Status
	end, err := r.Play(t, func(env *testsuite.TestWorkflowEnvironment) {
		env.RegisterDelayedCallback(func() {
			if held = status(t, env); !held.Held {
				return
			}
			mend()
			slots, err := run.Retry(context.Background(), r.Bucket, 1)
			if err != nil || len(slots) != r.Spec.Slots {
				t.Errorf("Retry() = %v, %v, want all %d slots", slots, err, r.Spec.Slots)
			}
			send(t, env, workflows.UpdateResume, workflows.Command{Who: "test", Why: "mended"})
		}, time.Hour)
	})
	if err != nil {
		t.Fatal(err)
	}
	clean(t, r)
	wantHeld(t, held, "5 of 5 slots", "slot 1: ", "tasks in a row were at fault", "--retry-failed", "--accept-failed")
	if e := read(t, r, run.Epoch(1)); e.FailedAll != 0 || end.FinalDigest == "" {
		t.Errorf("the epoch has %d failed slots and the run ended with %+v, want none and an end", e.FailedAll, end)
	}
}

func TestARunGoesOnWithoutFailedSlotsWhenAPersonSaysSo(t *testing.T) {
	t.Parallel()
	r, mend := broken(t)
	run := runs.Run(r.Spec.Name)
	accept := func() (runs.Decision, error) {
		return runs.Decision{Who: "test", Why: "they are not needed"}, nil
	}
	_, err := r.Play(t, func(env *testsuite.TestWorkflowEnvironment) {
		env.RegisterDelayedCallback(func() {
			if !status(t, env).Held {
				return
			}
			mend()
			if _, _, err := run.Accepted(1).Record(context.Background(), r.Bucket, accept); err != nil {
				t.Error(err)
			}
			send(t, env, workflows.UpdateResume, workflows.Command{Who: "test", Why: "accepted"})
		}, time.Hour)
	})
	if err != nil {
		t.Fatal(err)
	}
	clean(t, r)
	if e := read(t, r, run.Epoch(1)); e.FailedAll != 5 || !strings.Contains(e.Accepted, "not needed") {
		t.Errorf("%d slots failed, accepted because of %q, want 5 and the reason", e.FailedAll, e.Accepted)
	}
}

func TestASlotThatAPersonLeavesOutHasFailed(t *testing.T) {
	t.Parallel()
	s := testrun.Small()
	s.Epochs = 1
	task := planned(t, s, 4)
	r := testrun.WithBase(t, s)
	r.Suite.Break(scripted.Fault{
		Template: task.Template, Seed: task.Seed, Step: 2, Kind: scripted.Void, Times: 1 << 30,
	})
	r.Deps.Suites["webtasks"] = forgetful{r.Suite}
	run, d := runs.Run(s.Name), runs.Decision{Who: "test", Why: "it never works"}
	var told workflows.Status
	_, err := r.Play(t, func(env *testsuite.TestWorkflowEnvironment) {
		var look func()
		look = func() { // on a loaded machine, the last try before some pauses ends for another reason
			st := status(t, env)
			if !strings.Contains(st.Reason, "--skip 1/4") {
				env.RegisterDelayedCallback(look, time.Minute)

				return
			}
			told = st
			if err := run.Skip(context.Background(), r.Bucket, 1, 4, d); err != nil {
				t.Error(err)
			}
		}
		env.RegisterDelayedCallback(look, 15*time.Minute)
	})
	if err != nil {
		t.Fatal(err)
	}
	clean(t, r)
	if !told.Paused || told.Held {
		t.Errorf("the run waits with %+v, want a pause for infrastructure that says how to leave slot 4 out", told)
	}
	if e := read(t, r, run.Epoch(1)); e.FailedAll != 1 {
		t.Errorf("%d slots failed, want 1", e.FailedAll)
	}
}

// TestATaskAtFaultInStage1IsReplaced breaks a few training tasks, and then so many that a person is asked.
func TestATaskAtFaultInStage1IsReplaced(t *testing.T) {
	t.Parallel()
	r := testrun.New(t, testrun.Tiny())
	first := demonstration(t, r.Spec, 1, 0)
	r.Suite.Break(scripted.Fault{
		Template: first.Template, Seed: first.Seed, Split: domain.SplitTrain, Kind: scripted.Invalid, Times: 100,
	})
	for replaced := range 4 { // the third, and all that could replace it
		x := demonstration(t, r.Spec, 3, replaced)
		r.Suite.Break(scripted.Fault{
			Template: x.Template, Seed: x.Seed, Split: domain.SplitTrain, Kind: scripted.Invalid, Times: 100,
		})
	}
	play(t, r)

	run := runs.Run(r.Spec.Name)
	if d := read(t, r, run.Demonstration(0)); d.Failed != "" || d.Slot.Task.Seed == first.Seed {
		t.Errorf("the first demonstration is %q, task %+v, want a replacement", d.Failed, d.Slot.Task)
	}
	if d := read(t, r, run.Demonstration(2)); !strings.Contains(d.Failed, "4 tasks in a row were at fault") {
		t.Errorf("the third demonstration says %q, want why it failed", d.Failed)
	}
	if b := read(t, r, run.Base()); b.Unplayed != 1 {
		t.Errorf("the base policy says that %d tasks could not be played, want 1", b.Unplayed)
	}
}

func TestAStage1ThatCannotBePlayedAsksAPerson(t *testing.T) {
	t.Parallel()
	r := testrun.New(t, testrun.Tiny())
	suite := &sickly{Suite: r.Suite}
	r.Deps.Suites["webtasks"] = suite
	var held workflows.Status
	_, err := r.Play(t, func(env *testsuite.TestWorkflowEnvironment) {
		env.RegisterDelayedCallback(func() {
			held = status(t, env)
			suite.mended.Store(true)
			send(t, env, workflows.UpdateResume, workflows.Command{Who: "test", Why: "mended"})
		}, time.Hour)
	})
	if err != nil {
		t.Fatal(err)
	}
	clean(t, r)
	wantHeld(t, held, "training tasks of stage 1 cannot be played", "the first is task 0", "collabui resume")
	if b := read(t, r, runs.Run(r.Spec.Name).Base()); b.Unplayed != 0 {
		t.Errorf("the base policy says that %d tasks could not be played, want none", b.Unplayed)
	}
}

// demonstration returns the task of a demonstration, from 1, or of its replacement.
func demonstration(t *testing.T, s spec.Spec, number, replaced int) domain.Task {
	t.Helper()
	slot, err := rules.Slot(s, &scripted.Suite{}, 0, number, replaced)
	if err != nil {
		t.Fatal(err)
	}

	return slot.Task
}
