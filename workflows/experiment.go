package workflows

import (
	"errors"
	"fmt"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/activities/experiment"
	"github.com/collabui/collabui/activities/update"
	"github.com/collabui/collabui/internal/method/rules"
)

// ExperimentWorkflowID is the id of the workflow of an experiment.
func ExperimentWorkflowID(name string) string { return "experiment/" + name }

// ExperimentStatus answers the query "status" of an experiment.
type ExperimentStatus struct {
	Done  int    `json:"done"`          // arms that have been played, over all seeds
	All   int    `json:"all"`           // of these
	Arm   string `json:"arm,omitempty"` // that is played now
	Seed  int    `json:"seed,omitempty"`
	Run   string `json:"run,omitempty"`   // of that arm, while it trains
	Child string `json:"child,omitempty"` // workflow that is waited for
	Ended bool   `json:"ended,omitempty"` // the run had ended before, so nothing is measured by it
	Waits string `json:"waits,omitempty"` // why something is tried again
}

// ExperimentInput is an experiment, and how many of its arms have been played already, over all seeds.
type ExperimentInput struct {
	experiment.ID
	Done int `json:",omitempty"`
}

// Experiment trains the arms of an experiment for all seeds, lets their systems play the same episodes, and tests the
// contrasts. Runs that have ended and episodes that have been played are not repeated. Between two arms it continues as
// new where Temporal suggests that, or where another build of the workers is current.
func Experiment(ctx workflow.Context, in ExperimentInput) (experiment.Tested, error) {
	id := in.ID
	state := &experimentState{id: id, status: ExperimentStatus{Done: in.Done}}
	status := func() (ExperimentStatus, error) { return state.status, nil }
	if err := workflow.SetQueryHandler(ctx, QueryStatus, status); err != nil {
		return experiment.Tested{}, err
	}
	var layout experiment.Layout
	look := on(ctx, QueueControl, "which arms and seeds?")
	if err := state.act(ctx, func(ctx workflow.Context) error {
		return workflow.ExecuteActivity(look, control.Layout, id).Get(ctx, &layout)
	}); err != nil {
		return experiment.Tested{}, err
	}

	state.status.All = len(layout.Arms) * layout.Seeds
	for state.status.Done < state.status.All {
		if state.status.Done > in.Done && renews(ctx) {
			return experiment.Tested{}, state.patience(ctx).renew()
		}
		arm := layout.Arms[state.status.Done%len(layout.Arms)]
		seed := 1 + state.status.Done/len(layout.Arms)
		state.status.Arm = arm
		state.status.Seed = seed
		state.describe(ctx)
		next := experiment.ArmID{ID: id, Arm: arm, Seed: seed, At: workflow.Now(ctx).UTC()}
		if err := state.play(ctx, next); workflow.IsContinueAsNewError(err) {
			return experiment.Tested{}, err
		} else if err != nil {
			return experiment.Tested{}, fmt.Errorf("arm %s, seed %d: %w", arm, seed, err)
		}
		state.status.Done++
	}
	state.status.Arm = ""
	state.status.Seed = 0
	state.describe(ctx)

	var out experiment.Tested
	test := long(on(ctx, QueueControl, "test the contrasts"))
	err := state.act(ctx, func(ctx workflow.Context) error {
		return workflow.ExecuteActivity(test, control.Test, id).Get(ctx, &out)
	})

	return out, err
}

// experimentState is an experiment while its workflow runs.
type experimentState struct {
	id     experiment.ID
	status ExperimentStatus
}

// patience is how the experiment waits for infrastructure.
func (x *experimentState) patience(ctx workflow.Context) patience {
	return patience{
		waits: func(why string) {
			x.status.Waits = why
			x.describe(ctx)
		},
		renew: func() error {
			return continueAsNew(ctx, Experiment, ExperimentInput{ID: x.id, Done: x.status.Done})
		},
	}
}

// act repeats an action until it succeeds, or until it fails for a reason that only a person can remove.
func (x *experimentState) act(ctx workflow.Context, do func(workflow.Context) error) error {
	err := x.patience(ctx).insist(ctx, do)
	x.status.Waits = ""

	return err
}

// describe writes how far the experiment is into the details that the Temporal UI shows.
func (x *experimentState) describe(ctx workflow.Context) {
	text := fmt.Sprintf("**%d of %d** arms are played, over all seeds", x.status.Done, x.status.All)
	if x.status.Arm != "" {
		text += fmt.Sprintf("; now **%s**, seed %d", x.status.Arm, x.status.Seed)
	}
	if x.status.Waits != "" {
		text += "\n\nit is tried again, because " + x.status.Waits
	}
	workflow.SetCurrentDetails(ctx, text)
}

// play trains an arm for a seed, and lets its systems play.
func (x *experimentState) play(ctx workflow.Context, id experiment.ArmID) error {
	var run experiment.Prepared
	prepare := long(on(ctx, QueueControl, fmt.Sprintf("arm %s, seed %d", id.Arm, id.Seed)))
	if err := x.act(ctx, func(ctx workflow.Context) error {
		return workflow.ExecuteActivity(prepare, control.Prepare, id).Get(ctx, &run)
	}); err != nil {
		return err
	}
	x.status.Ended = run.Ended
	if !run.Ended {
		x.status.Run = run.Run
		err := x.train(ctx, run.Run)
		x.status.Run = ""
		if err != nil {
			return err
		}
	}

	plays, err := x.lineup(ctx, experiment.LineupID{ArmID: id})
	if err != nil {
		return err
	}
	if plays.Epochs > 0 {
		if err := x.imitate(ctx, run.Run, plays); err != nil {
			return err
		}
		if plays, err = x.lineup(ctx, experiment.LineupID{ArmID: id, Imitated: true}); err != nil {
			return err
		}
	}
	for i, items := range [][]rules.EvalItem{plays.First, plays.Second} {
		if len(items) == 0 {
			continue
		}
		label := fmt.Sprintf("%s/experiment-%d", run.Run, i+1)
		x.status.Child = label
		err := x.act(ctx, func(ctx workflow.Context) error {
			cctx := child(ctx, label, fmt.Sprintf("systems of arm %s, seed %d", id.Arm, id.Seed))

			return childError(ctx, workflow.ExecuteChildWorkflow(cctx, Evaluation, items).Get(ctx, nil))
		})
		x.status.Child = ""
		if err != nil {
			return err
		}
	}

	return nil
}

func (x *experimentState) lineup(ctx workflow.Context, id experiment.LineupID) (plays experiment.Lineup, err error) {
	plan := on(ctx, QueueControl, fmt.Sprintf("what plays for arm %s, seed %d", id.Arm, id.Seed))
	err = x.act(ctx, func(ctx workflow.Context) error {
		return workflow.ExecuteActivity(plan, control.PlanArm, id).Get(ctx, &plays)
	})

	return plays, err
}

// train runs a run to its end. A run that a person stops ends the experiment, which can be started again.
func (x *experimentState) train(ctx workflow.Context, run string) error {
	err := trainRun(ctx, run, x.patience(ctx))
	x.status.Waits = ""
	var app *temporal.ApplicationError
	if errors.As(err, &app) && app.Type() == ErrStopped {
		return temporal.NewNonRetryableApplicationError("run "+run+": "+app.Message(), ErrStopped, nil)
	}

	return err
}

// imitate trains the controls of all agents, epoch by epoch.
func (x *experimentState) imitate(ctx workflow.Context, run string, plays experiment.Lineup) error {
	for epoch := 1; epoch <= plays.Epochs; epoch++ {
		err := x.act(ctx, func(ctx workflow.Context) error {
			var open []workflow.Future
			for agent := range plays.Agents {
				ictx := on(ctx, QueueGPU, fmt.Sprintf("imitation, epoch %d, agent %d", epoch, agent))
				id := update.AgentID{Run: run, Epoch: epoch, Agent: agent}
				open = append(open, workflow.ExecuteActivity(ictx, gpu.Imitate, id))
			}
			var errs []error
			for _, future := range open {
				errs = append(errs, future.Get(ctx, nil))
			}

			return errors.Join(errs...)
		})
		if err != nil {
			return err
		}
	}

	return nil
}
