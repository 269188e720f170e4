package workflows_test

import (
	"strings"
	"testing"

	"go.temporal.io/sdk/testsuite"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/activities/lifecycle"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/care/verify"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/test/kit/testrun"
	"github.com/collabui/collabui/workflows"
)

// play plays a run to its end and checks what it left in the store.
func play(t *testing.T, r *testrun.Run) runs.End {
	t.Helper()
	end, err := r.Play(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	clean(t, r)

	return end
}

// clean checks that the validators and fsck find nothing in a run's store.
func clean(t *testing.T, r *testrun.Run) {
	t.Helper()
	problems, err := verify.Run(t.Context(), r.Bucket, r.Spec.Name)
	if err != nil || len(problems) > 0 {
		t.Errorf("the validators found %v, %v; want no problems", problems, err)
	}
	report, err := verify.Fsck(t.Context(), r.Bucket)
	if err != nil || len(report.Problems) > 0 {
		t.Errorf("fsck found %v, %v; want no problems", report.Problems, err)
	}
}

// read reads an object of a run.
func read[T any](t *testing.T, r *testrun.Run, o runs.Object[T]) T {
	t.Helper()
	v, _, err := o.Must(t.Context(), r.Bucket)
	if err != nil {
		t.Fatal(err)
	}

	return v
}

// status asks a run for its status.
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

// wantHeld checks that a run waits for a person, for a reason that contains all of some words.
func wantHeld(t *testing.T, st workflows.Status, words ...string) {
	t.Helper()
	if !st.Held {
		t.Errorf("the status = %+v, want a run that is held", st)
	}
	for _, want := range words {
		if !strings.Contains(st.Reason, want) {
			t.Errorf("the run is held because %q, want a reason with %q", st.Reason, want)
		}
	}
}

// send sends a person's command and fails the test if it is refused.
func send(t *testing.T, env *testsuite.TestWorkflowEnvironment, update string, c workflows.Command) {
	env.UpdateWorkflow(update, "", &testsuite.TestUpdateCallback{
		OnAccept:   func() {},
		OnReject:   func(err error) { t.Errorf("update %s was refused: %v, want it accepted", update, err) },
		OnComplete: func(any, error) {},
	}, c)
}

// attempts returns how the attempts at a slot of epoch 1 ended.
func attempts(t *testing.T, r *testrun.Run, slot int) []runs.Episode {
	t.Helper()
	var out []runs.Episode
	for n := 1; ; n++ {
		e, there, err := runs.Run(r.Spec.Name).Attempt(1, slot, n).May(t.Context(), r.Bucket)
		if err != nil {
			t.Fatal(err)
		}
		if !there {
			return out
		}
		out = append(out, e)
	}
}

// planned returns the task of a slot of epoch 1, as every run of the specification draws it.
func planned(t *testing.T, s spec.Spec, slot int) domain.Task {
	t.Helper()
	r := testrun.New(t, s)
	base := func() (runs.Base, error) { return runs.Base{}, nil }
	if _, _, err := runs.Run(s.Name).Base().Record(t.Context(), r.Bucket, base); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Control().PlanRun(t.Context(), lifecycle.RunID{Run: r.Spec.Name}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Control().PlanEpoch(t.Context(), activities.EpochID{Run: s.Name, Epoch: 1}); err != nil {
		t.Fatal(err)
	}

	return read(t, r, runs.Run(s.Name).Slots(1)).Slots[slot-1].Task
}
