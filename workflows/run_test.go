package workflows_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/test/kit/testrun"
	"github.com/collabui/collabui/workflows"
)

func TestARunGoesOnFromTheStoreAlone(t *testing.T) {
	t.Parallel()
	r, end := testrun.Finished(t) // a new process: Temporal knows nothing, the store everything but the end
	r.Bucket.Damage(runs.Run("small").End().Key, nil)

	again, err := r.Play(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	if again.FinalDigest != end.FinalDigest {
		t.Errorf("the final digest = %s, want %s", again.FinalDigest, end.FinalDigest)
	}
	if r.Suite.Episodes != 0 {
		t.Errorf("%d episodes were played again, want none", r.Suite.Episodes)
	}
}

func TestAPersonsPauseHoldsThroughFaultsThatPass(t *testing.T) {
	t.Parallel()
	r := testrun.New(t, testrun.Tiny())
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
			st := status(t, env)
			if st.Held || st.Paused && !strings.Contains(st.Reason, "server is down") {
				t.Errorf("the status before the pause = %+v, want a run that is not held", st)
			}
			send(t, env, workflows.UpdatePause, workflows.Command{Who: "ann", Why: "lunch"})
		}, 90*time.Minute)
		env.RegisterDelayedCallback(func() {
			wantHeld(t, status(t, env), "ann: lunch")
			down = false
			send(t, env, workflows.UpdateResume, workflows.Command{Who: "ann"})
		}, 5*time.Hour)
	})
	if err != nil {
		t.Fatal(err)
	}
	if end.FinalDigest == "" {
		t.Errorf("the run ended with %+v, want a final digest", end)
	}
}

func TestARunThatIsPausedWhileItIsPlannedIsListedAsPaused(t *testing.T) {
	t.Parallel()
	r := testrun.New(t, testrun.Tiny())
	key, listed, asked := temporal.NewSearchAttributeKeyKeyword("CollabStage"), "", false
	_, err := r.Play(t, func(env *testsuite.TestWorkflowEnvironment) {
		if asked {
			return // continued as new
		}
		asked = true
		env.OnUpsertTypedSearchAttributes(mock.Anything).Run(func(args mock.Arguments) {
			if stage, ok := args.Get(0).(temporal.SearchAttributes).GetKeyword(key); ok {
				listed = stage
			}
		}).Return(nil)
		atFirst(env, "PlanRun", func() {
			send(t, env, workflows.UpdatePause, workflows.Command{Who: "ann", Why: "lunch"})
		})
		env.RegisterDelayedCallback(func() {
			wantHeld(t, status(t, env), "ann: lunch")
			if listed != workflows.StagePaused {
				t.Errorf("the run is listed as %q, want %q", listed, workflows.StagePaused)
			}
			send(t, env, workflows.UpdateStop, workflows.Command{Who: "test", Why: "seen"})
		}, time.Hour)
	})
	if err == nil || !strings.Contains(err.Error(), "stopped by test") {
		t.Fatalf("the run ended with %v, want it stopped by test", err)
	}
}
