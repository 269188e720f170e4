package workflows_test

import (
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/testsuite"

	"github.com/collabui/collabui/internal/care/transfer"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/test/kit/testrun"
)

// TestAStoreThatIsReplacedByAnOlderCopyAsksAPerson replaces the store, at the same address and beneath its workers,
// by a copy that was made an epoch before. The run reports what a person should do, and ends with the digest of an
// undisturbed run when it has been stopped and started again.
func TestAStoreThatIsReplacedByAnOlderCopyAsksAPerson(t *testing.T) {
	t.Parallel()
	s := threeEpochs()
	want := play(t, testrun.WithBase(t, s))

	r := testrun.WithBase(t, s)
	claim(t, r, "one")
	workIn(r, "one")
	former, err := store.Identify(t.Context(), r.Bucket)
	if err != nil {
		t.Fatal(err)
	}
	older, plays, asked := &store.Memory{}, 0, false
	_, err = r.Play(t, func(env *testsuite.TestWorkflowEnvironment) {
		switch plays++; plays {
		case 2:
			if _, err := transfer.All(t.Context(), r.Bucket, older, func(int, int) {}); err != nil {
				t.Error(err)
			}
		case 3:
			setBack(t, r.Bucket, snapshot(t, older)) // after the workflow has begun, which belongs to the former store
			untilAsked(t, env, "belongs to the store "+former.ID, func() { asked = true })
		}
	})
	if err == nil || !asked {
		t.Fatalf("the run ended with %v on another store, and asked a person: %v; want that", err, asked)
	}
	if n, err := runs.Run(s.Name).Committed(t.Context(), r.Bucket); err != nil || n != 1 {
		t.Errorf("%d epochs are committed in the copy, %v, want 1", n, err)
	}

	claim(t, r, "one") // what `train` does
	end, err := r.Play(t, nil)
	if err != nil || end.FinalDigest != want.FinalDigest {
		t.Errorf("the run ended with %s, %v, want %s", end.FinalDigest, err, want.FinalDigest)
	}
	clean(t, r)
}

// untilAsked waits until a run reports that it waits for a reason, calls asked, and cancels the run as `stop` does.
func untilAsked(t *testing.T, env *testsuite.TestWorkflowEnvironment, reason string, asked func()) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	var look func()
	look = func() {
		now := status(t, env)
		switch {
		case now.Paused && strings.Contains(now.Reason, reason) && strings.Contains(now.Reason, "start it again"):
			asked()
			env.CancelWorkflow()
		case time.Now().After(deadline):
			t.Errorf("the run is %+v, want it paused because %q", now, reason)
			env.CancelWorkflow()
		default:
			env.RegisterDelayedCallback(look, time.Minute)
		}
	}
	env.RegisterDelayedCallback(look, time.Hour)
}
