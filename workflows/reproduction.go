package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/activities"
)

// Reproduction trains the imitation control of a finished run and evaluates all its contestants.
func Reproduction(ctx workflow.Context, in activities.ReproductionID) error {
	plan := func() (activities.Contestants, error) {
		var c activities.Contestants
		err := workflow.ExecuteActivity(on(ctx, QueueControl, "contestants of "+in.Run), control.PlanReproduction, in).Get(ctx, &c)
		return c, err
	}
	c, err := plan()
	if err != nil {
		return err
	}
	for k := 1; k <= c.Epochs; k++ {
		var open []workflow.Future
		for a := range c.Agents {
			open = append(open, workflow.ExecuteActivity(on(ctx, QueueGPU, fmt.Sprintf("imitation, epoch %d, agent %d", k, a)), gpu.Imitate, activities.AgentID{Run: in.Run, Epoch: k, Agent: a}))
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
	return workflow.ExecuteChildWorkflow(child(ctx, in.Run+"/reproduce/eval", "all contestants on the test splits"), Evaluation, c.Items).Get(ctx, nil)
}
