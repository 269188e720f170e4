package workflows_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/testsuite"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/scripted"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/internal/store/verify"
	"github.com/collabui/collabui/test/kit/testrun"
	"github.com/collabui/collabui/workflows"
)

func clean(t *testing.T, r *testrun.Run) {
	t.Helper()
	if ps, err := verify.Run(t.Context(), r.Bucket, r.Spec.Name); err != nil || len(ps) > 0 {
		t.Errorf("validators: %v %v", ps, err)
	}
	rep, err := verify.Fsck(t.Context(), r.Bucket)
	if err != nil || len(rep.Problems) > 0 {
		t.Errorf("fsck: %v %v", rep.Problems, err)
	}
}

func TestARunEndsWithTheSameDigestWhateverBreaksOnTheWay(t *testing.T) {
	whole := testrun.New(t, testrun.Small())
	end, err := whole.Play(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	if end.FinalDigest == "" || len(end.Results) != 9 || len(end.Curve) != 3 {
		t.Fatalf("%+v", end)
	}
	clean(t, whole)

	broken := testrun.New(t, testrun.Small())
	for _, n := range []string{"a", "b", "c", "d"} {
		broken.Suite.Break(scripted.Fault{Template: n, Step: 2, Kind: "void", Times: 3}, scripted.Fault{Template: n, Step: 0, Kind: "void", Times: 2})
	}
	again, err := broken.Play(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	if again.FinalDigest != end.FinalDigest {
		t.Errorf("environments that broke changed the digest: %s, want %s", again.FinalDigest, end.FinalDigest)
	}
	clean(t, broken)
}

func TestARunGoesOnFromTheStoreAlone(t *testing.T) {
	r := testrun.New(t, testrun.Small())
	end, err := r.Play(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	resets := r.Suite.Episodes
	r.Bucket.Damage(runs.Run("small").End().Key, nil) // Temporal knows nothing, the store all but the end
	again, err := r.Play(t, nil)
	if err != nil || again.FinalDigest != end.FinalDigest {
		t.Fatal(again.FinalDigest, err)
	}
	if r.Suite.Episodes != resets {
		t.Errorf("%d episodes were played again", r.Suite.Episodes-resets)
	}
}

func TestARunWaitsWhileStageOneCannotPlay(t *testing.T) {
	s := testrun.Tiny()
	r := testrun.New(t, s)
	r.Suite.Break(scripted.Fault{Template: "c", Step: 0, Kind: "invalid", Times: 1 << 30})
	_, err := r.Play(t, func(env *testsuite.TestWorkflowEnvironment) {
		env.RegisterDelayedCallback(func() {
			if st := status(t, env); !st.Held || !strings.Contains(st.Reason, "scripted") {
				t.Errorf("a fault that no retry can help must wait for a person: %+v", st)
			}
			env.UpdateWorkflow(workflows.UpdateStop, "", done(t), workflows.Command{Who: "test", Why: "broken"})
		}, time.Hour)
	})
	if err == nil || !strings.Contains(err.Error(), "stopped by test") {
		t.Fatalf("stage 1 cannot play template c; the run must pause until it is stopped: %v", err)
	}
}

func status(t *testing.T, env *testsuite.TestWorkflowEnvironment) (st workflows.Status) {
	t.Helper()
	v, err := env.QueryWorkflow(workflows.QueryStatus)
	if err == nil {
		err = v.Get(&st)
	}
	if err != nil {
		t.Error(err)
	}
	return st
}

func TestAPersonsPauseHoldsThroughFaultsThatPass(t *testing.T) {
	s := testrun.Tiny()
	r := testrun.New(t, s)
	load, down := r.Deps.Load, true
	r.Deps.Load = func(ctx context.Context, policy string, quorum int) error {
		if down {
			return fault.New(fault.Transient, "the policy server is down")
		}
		return load(ctx, policy, quorum)
	}
	asked := false
	end, err := r.Play(t, func(env *testsuite.TestWorkflowEnvironment) {
		if asked {
			return // continued as new
		}
		asked = true
		env.RegisterDelayedCallback(func() {
			if st := status(t, env); st.Held || st.Paused && !strings.Contains(st.Reason, "server is down") {
				t.Errorf("before the pause: %+v", st)
			}
			env.UpdateWorkflow(workflows.UpdatePause, "", done(t), workflows.Command{Who: "ann", Why: "lunch"})
		}, 90*time.Minute)
		env.RegisterDelayedCallback(func() {
			if st := status(t, env); !st.Held || !strings.Contains(st.Reason, "ann: lunch") {
				t.Errorf("hours later: %+v", st)
			}
			down = false
			env.UpdateWorkflow(workflows.UpdateResume, "", done(t), workflows.Command{Who: "ann"})
		}, 5*time.Hour)
	})
	if err != nil || end.FinalDigest == "" {
		t.Fatal(end, err)
	}
}

// attempts reads how the attempts at a slot ended.
func attempts(t *testing.T, r *testrun.Run, slot int) []runs.Episode {
	t.Helper()
	var out []runs.Episode
	for n := 1; ; n++ {
		e, _, err := runs.Run(r.Spec.Name).Attempt(1, slot, n).Read(t.Context(), r.Bucket)
		if errors.Is(err, store.ErrNotFound) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
}

// planned is the task of a slot of epoch 1, as every run of the specification draws it.
func planned(t *testing.T, s spec.Spec, slot int) domain.Task {
	t.Helper()
	r := testrun.New(t, s)
	if _, _, err := runs.Run(s.Name).Base().Record(t.Context(), r.Bucket, func() (runs.Base, error) { return runs.Base{}, nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Control().PlanEpoch(t.Context(), activities.EpochID{Run: s.Name, Epoch: 1}); err != nil {
		t.Fatal(err)
	}
	slots, _, err := runs.Run(s.Name).Slots(1).Read(t.Context(), r.Bucket)
	if err != nil {
		t.Fatal(err)
	}
	return slots.Slots[slot-1].Task
}

// forgetful is a suite whose environments cannot be brought back to where they were.
type forgetful struct{ *scripted.Suite }

func (f forgetful) Open(ctx context.Context) (envadapters.Environment, error) {
	e, err := f.Suite.Open(ctx)
	if err != nil {
		return nil, err
	}
	return struct {
		envadapters.Environment
		envadapters.Judge
	}{e, e.(envadapters.Judge)}, nil
}

func TestAnAttemptThatCannotBeResumedIsVoidAndTheNextBeginsAnew(t *testing.T) {
	s := testrun.Tiny()
	task := planned(t, s, 4)
	breaks := scripted.Fault{Template: task.Template, Seed: task.Seed, Step: 2, Kind: "void", Times: 1}
	diverges := scripted.Fault{Template: task.Template, Seed: task.Seed, Step: 1, Kind: "diverge", Times: 1}
	for name, x := range map[string]struct {
		faults []scripted.Fault
		replay bool
		why    string
	}{
		"it replays":                    {[]scripted.Fault{breaks}, true, ""},
		"the replay shows other things": {[]scripted.Fault{diverges, breaks}, true, "another screen"},
		"it cannot replay":              {[]scripted.Fault{breaks}, false, "cannot be brought back"},
	} {
		t.Run(name, func(t *testing.T) {
			r := testrun.New(t, s)
			r.Suite.Break(x.faults...)
			if !x.replay {
				r.Deps.Suites["webtasks"] = forgetful{r.Suite}
			}
			if _, err := r.Play(t, nil); err != nil {
				t.Fatal(err)
			}
			got := attempts(t, r, 4)
			if x.why == "" {
				if len(got) != 1 || got[0].Void != "" {
					t.Errorf("%+v", got)
				}
			} else if len(got) != 2 || !strings.Contains(got[0].Void, x.why) || got[1].Void != "" || got[1].Slot.Replacement != 0 {
				t.Errorf("%+v", got)
			}
			clean(t, r)
		})
	}
}

// taught is a suite whose environments know one action that helps, and no more.
type taught struct{ *scripted.Suite }

func (x taught) Open(ctx context.Context) (envadapters.Environment, error) {
	e, err := x.Suite.Open(ctx)
	if err != nil {
		return nil, err
	}
	return struct {
		envadapters.Environment
		envadapters.Expert
		envadapters.Replayable
	}{e, e.(envadapters.Expert), e.(envadapters.Replayable)}, nil
}

func TestAnExpertWithoutAJudgeDemonstrates(t *testing.T) {
	s := testrun.Tiny()
	s.Credit = spec.CreditOutcome // nobody knows what is right
	r := testrun.New(t, s)
	r.Deps.Suites["webtasks"] = taught{r.Suite}
	if _, err := r.Play(t, nil); err != nil {
		t.Fatal(err)
	}
	d, _, err := runs.Run(s.Name).Demonstration(0).Read(t.Context(), r.Bucket)
	if err != nil || len(d.Pairs) != 4 {
		t.Errorf("%d steps were demonstrated: %v", len(d.Pairs), err)
	}
	clean(t, r)
}

// done is an update callback that fails the test when the update is refused.
func done(t *testing.T) *testsuite.TestUpdateCallback {
	return &testsuite.TestUpdateCallback{OnAccept: func() {}, OnReject: func(err error) { t.Error("update refused: ", err) }, OnComplete: func(any, error) {}}
}

func TestARunWhoseCriticCannotBeSaysSo(t *testing.T) {
	r := testrun.New(t, testrun.Tiny())
	r.Deps.Suites["webtasks"] = taught{r.Suite}
	var last workflows.Status
	_, err := r.Play(t, func(env *testsuite.TestWorkflowEnvironment) {
		env.RegisterDelayedCallback(func() {
			last = status(t, env)
			env.UpdateWorkflow(workflows.UpdateStop, "", done(t), workflows.Command{Who: "test", Why: "seen"})
		}, time.Hour)
	})
	if err == nil || !last.Held || !strings.Contains(last.Reason, "has no judge") {
		t.Errorf("%v %+v", err, last)
	}
}

func TestVoidAttemptsAreKeptAndReplacementsCount(t *testing.T) {
	s := testrun.Small()
	s.Epochs = 1
	r := testrun.New(t, s)
	bad := planned(t, s, 4)
	r.Suite.Break(scripted.Fault{Template: bad.Template, Seed: bad.Seed, Step: 0, Kind: "invalid", Times: 1 << 30})
	if _, err := r.Play(t, nil); err != nil {
		t.Fatal(err)
	}
	v, _, err := runs.Run("small").Attempt(1, 4, 1).Read(t.Context(), r.Bucket)
	if err != nil || !v.TaskBad {
		t.Fatal(v, err)
	}
	e, _, err := runs.Run("small").Attempt(1, 4, 2).Read(t.Context(), r.Bucket)
	if err != nil || e.Slot.Replacement != 1 || e.Slot.Task == bad {
		t.Fatalf("%+v, %v", e.Slot, err)
	}
	clean(t, r)
}

func TestAReproductionPlaysEveryContestantOnItsSplits(t *testing.T) {
	s := testrun.Tiny()
	s.Pairs.MinPairs = 1
	r := testrun.New(t, s)
	if _, err := r.Play(t, nil); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time everything is there already
		if err := r.Do(workflows.Reproduction, activities.ReproductionID{Run: s.Name, Episodes: 7}); err != nil {
			t.Fatal(err)
		}
	}
	for split, systems := range map[string][]string{
		domain.SplitTestSeeds:     {"base-1", "base-4", "trained-4", "imitation-4", rules.NameVotes, rules.NameAlone},
		domain.SplitTestTemplates: {"base-1", "base-4", "trained-4", "imitation-4"},
	} {
		for _, name := range systems {
			res, _, err := runs.Run(s.Name).Result(rules.EvalID(rules.ReproduceFolder, name, split)).Read(t.Context(), r.Bucket)
			if err != nil || res.Episodes != 7 {
				t.Errorf("%s on %s: %+v %v", name, split, res, err)
			}
		}
	}
}
