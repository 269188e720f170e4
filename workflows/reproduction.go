package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/activities"
)

// Reproduction trains the imitation control of a finished run and evaluates all its contestants.
func Reproduction(ctx workflow.Context, in activities.ReproductionID) error {
	plan := func() (c activities.Contestants, err error) {
		pctx := on(ctx, QueueControl, "contestants of "+in.Run)
		err = workflow.ExecuteActivity(pctx, control.PlanReproduction, in).Get(ctx, &c)

		return c, err
	}

	c, err := plan()
	if err != nil {
		return err
	}
	for epoch := 1; epoch <= c.Epochs; epoch++ {
		var open []workflow.Future
		for agent := range c.Agents {
			ictx := on(ctx, QueueGPU, fmt.Sprintf("imitation, epoch %d, agent %d", epoch, agent))
			id := activities.AgentID{Run: in.Run, Epoch: epoch, Agent: agent}
			open = append(open, workflow.ExecuteActivity(ictx, gpu.Imitate, id))
		}
		for _, f := range open {
			if err := f.Get(ctx, nil); err != nil {
				return err
			}
		}
	}

	if c, err = plan(); err != nil {
		return err
	}
	cctx := child(ctx, in.Run+"/reproduce/eval", "all contestants on the test splits")

	return workflow.ExecuteChildWorkflow(cctx, Evaluation, c.Items).Get(ctx, nil)
}
