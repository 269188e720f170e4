package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/domain"
)

// ReproductionInput is one seed of a reproduction: a finished run and the number of paired episodes.
type ReproductionInput struct {
	Run      string
	Episodes int
}

// Reproduction trains the imitation control of a finished run and evaluates all its contestants on both test splits.
func Reproduction(ctx workflow.Context, in ReproductionInput) error {
	plan := func() (activities.Contestants, error) {
		var c activities.Contestants
		err := workflow.ExecuteActivity(on(ctx, QueueControl, "contestants of "+in.Run), control.PlanReproduction, in.Run).Get(ctx, &c)
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
	var items []activities.EvalItem
	for _, s := range c.Systems {
		for _, split := range []string{domain.SplitTestSeeds, domain.SplitTestTemplates} {
			items = append(items, activities.EvalItem{Run: in.Run, Folder: activities.ReproduceFolder, System: s, Split: split, Episodes: in.Episodes})
		}
	}
	return workflow.ExecuteChildWorkflow(child(ctx, in.Run+"/reproduce/eval", "all contestants on both test splits"), Evaluation, items).Get(ctx, nil)
}
