package workflows_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"

	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/test/kit/testrun"
	"github.com/collabui/collabui/trainer"
	"github.com/collabui/collabui/workflows"
)

// TestNoAgentWaitsForAnUpdateThatFailedForAll lets the one update of shared parameters need a person.
func TestNoAgentWaitsForAnUpdateThatFailedForAll(t *testing.T) {
	t.Parallel()
	r, _ := watched(t, func(s *spec.Spec) { s.Epochs, s.Parameters = 1, spec.ParametersShared })
	r.Deps.Trainers[spec.Embedded] = &onceBroken{Trainer: r.Deps.Trainers[spec.Embedded]}
	tries, asked := 0, false
	_, err := r.Play(t, func(env *testsuite.TestWorkflowEnvironment) {
		env.SetOnActivityStartedListener(func(i *activity.Info, _ context.Context, _ converter.EncodedValues) {
			if i.ActivityType.Name == "Update" {
				tries++
			}
		})
		env.RegisterDelayedCallback(func() {
			if asked {
				return
			}
			asked = true
			wantHeld(t, status(t, env), "the disk is full")
			if tries != 1 {
				t.Errorf("%d updates were tried, want the first alone", tries)
			}
			send(t, env, workflows.UpdateResume, workflows.Command{Who: "test", Why: "there is room"})
		}, time.Minute)
	})
	if err != nil || !asked {
		t.Errorf("the run ended with %v (held: %v), want an end after it was held", err, asked)
	}
	clean(t, r)
}

// sparing is a trainer that leaves out all rows but one.
type sparing struct{ trainer.Trainer }

func (x sparing) Train(ctx context.Context, j trainer.Job, p trainer.Progress) (trainer.Result, error) {
	got, err := x.Trainer.Train(ctx, j, p)
	got.Skipped = len(j.Pairs) - 1

	return got, err
}

func TestAnUpdateOnTooFewRowsDoesNotCount(t *testing.T) {
	t.Parallel()
	r := testrun.WithBase(t, testrun.Tiny())
	r.Deps.Trainers[spec.Embedded] = sparing{r.Deps.Trainers[spec.Embedded]}
	play(t, r)
	u := read(t, r, runs.Run(r.Spec.Name).Update(1, 0))
	if !strings.Contains(u.Kept, "could be trained on, fewer than min_pairs 4") || u.Policy != u.Parent {
		t.Errorf("the update on one row is %+v, want one that keeps the parent", u)
	}
}
