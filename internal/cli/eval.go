package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/fault"
	"github.com/collabui/collabui/internal/record"
	"github.com/collabui/collabui/workers"
	"github.com/collabui/collabui/workflows"
)

func evalCmd(a *app) *cobra.Command {
	c := &cobra.Command{Use: "eval RUN", Short: "Evaluate the systems of an epoch of a run on a split", Example: "  collabui eval quickstart --epoch 3 --split test-seeds --episodes 300", Args: cobra.ExactArgs(1)}
	epoch := c.Flags().Int("epoch", 0, "whose systems; 0 is the base policy, alone and n times")
	split := c.Flags().String("split", domain.SplitVal, "one of "+strings.Join(domain.Splits, ", "))
	episodes := c.Flags().Int("episodes", 100, "episodes per system")
	c.RunE = func(c *cobra.Command, args []string) error {
		if *episodes < 1 || *episodes > 9999 {
			return fault.New(fault.Invalid, "--episodes must be from 1 to 9999, not %d", *episodes)
		}
		b, e, err := a.bucket()
		if err != nil {
			return err
		}
		control := &activities.Control{Deps: &activities.Deps{Bucket: b}}
		systems, err := control.Systems(c.Context(), activities.SystemsID{Run: args[0], Epoch: *epoch})
		if err != nil {
			return err
		}
		folder := fmt.Sprintf("eval-%04d-%04d", *epoch, *episodes)
		var items []activities.EvalItem
		for _, s := range systems {
			items = append(items, activities.EvalItem{Run: args[0], Folder: folder, System: s, Split: *split, Episodes: *episodes})
		}
		t, err := workers.Dial(c.Context(), e, quiet{io.Discard})
		if err != nil {
			return err
		}
		defer t.Close()
		w, err := t.ExecuteWorkflow(c.Context(), client.StartWorkflowOptions{ID: args[0] + "/" + folder + "/" + *split, TaskQueue: workflows.QueueControl, StaticSummary: "evaluation on " + *split,
			WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE, WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING}, workflows.Evaluation, items)
		if err != nil {
			return fault.New(fault.Transient, "start the evaluation: %w", err)
		}
		var res []record.Result
		if err := w.Get(c.Context(), &res); err != nil {
			return fault.New(fault.Transient, "evaluation: %w", err)
		}
		for _, r := range res {
			if err := a.print(r, func(w io.Writer) {
				_, _ = fmt.Fprintf(w, "%-14s %-15s %4d/%-4d %5.1f %%   %.1f to %.1f   %s\n", r.System, r.Split, r.Successes, r.Episodes, 100*r.Rate, 100*r.Low, 100*r.High, r.Decoding)
			}); err != nil {
				return err
			}
		}
		return nil
	}
	return c
}
