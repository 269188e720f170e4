package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/workers"
	"github.com/collabui/collabui/workers/catalog"
	"github.com/collabui/collabui/workflows"
)

func evalCmd(a *app) *cobra.Command {
	c := &cobra.Command{Use: "eval [RUN]", Short: "Evaluate the systems of an epoch of a run on a split, of its environment or another; without RUN, systems without policies on recorded tasks",
		Example: "  collabui eval quickstart --epoch 3 --split test-seeds --episodes 300\n  collabui eval quickstart --epoch 3 --environment miniwob --files DIR --split mobile-62 --semantics mobile\n  collabui eval --environment autowebbench --files DIR", Args: cobra.MaximumNArgs(1)}
	epoch := c.Flags().Int("epoch", 0, "whose systems; 0 is the base policy, alone and n times")
	split := c.Flags().String("split", "", "of the environment (default: val; of recorded tasks without RUN, all that are no training)")
	episodes := c.Flags().Int("episodes", 100, "episodes per system; of recorded tasks by default all, each once")
	name := c.Flags().String("environment", "", "another environment than the run's: an adapter, or a name under environments of the run's specification or of --spec")
	f := &envFlags{}
	f.add(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		if *episodes < 1 || *episodes > 9999 {
			return fault.New(fault.Invalid, "--episodes must be from 1 to 9999, not %d", *episodes)
		}
		if len(args) == 0 {
			return a.refer(c, f, *name, *split)
		}
		if *split == "" {
			*split = domain.SplitVal
		}
		if *split == domain.SplitTrain {
			return fault.New(fault.Invalid, "--split must not be train: what was trained on is no evaluation")
		}
		b, e, err := a.bucket()
		if err != nil {
			return err
		}
		s, err := committed(c.Context(), b, args[0], *epoch)
		if err != nil {
			return err
		}
		made, err := runs.Run(args[0]).System(c.Context(), b, *epoch, s.Agents)
		systems := rules.EvalSystems(s, *epoch, made.Digests())
		if err != nil {
			return err
		}
		on, refs, err := f.place(s, *name, *split, *episodes, c.Flags().Changed("episodes"))
		if err != nil {
			return err
		}
		var items []rules.EvalItem
		for _, r := range refs {
			items = append(items, on.Item(args[0], fmt.Sprintf("%s-%04d", rules.ReferenceFolder, on.Episodes), r))
		}
		folder := fmt.Sprintf("eval-%04d-%04d", *epoch, on.Episodes)
		for _, s := range systems {
			items = append(items, on.Item(args[0], folder, s))
		}
		where := *split
		if on.Environment != "" {
			where = on.Environment + "." + *split
		}
		t, err := workers.Dial(c.Context(), e, slog.New(slog.DiscardHandler))
		if err != nil {
			return err
		}
		defer t.Close()
		w, err := t.ExecuteWorkflow(c.Context(), client.StartWorkflowOptions{ID: args[0] + "/" + folder + "/" + where, TaskQueue: workflows.QueueControl, StaticSummary: "evaluation on " + where,
			WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE, WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING}, workflows.Evaluation, items)
		if err != nil {
			return fault.New(fault.Transient, "start the evaluation: %w", err)
		}
		var res []runs.Result
		if err := a.attend(c.Context(), t, w, func(v *viewer) { v.progress(c.Context(), t, "evaluation on "+where, w.GetID()) }); err != nil {
			return fault.New(fault.Transient, "evaluation: %w", err)
		}
		if err := w.Get(c.Context(), &res); err != nil {
			return fault.New(fault.Transient, "evaluation: %w", err)
		}
		for _, r := range res {
			if a.json {
				if err := a.print(evaluated{r, rules.CriticName(s, catalog.All{})}, nil); err != nil {
					return err
				}
			}
		}
		if !a.json {
			table(a.out, res)
			_, _ = fmt.Fprintf(a.out, "critic: %s\n", rules.CriticName(s, catalog.All{}))
		}
		return nil
	}
	return c
}

// evaluated is a result with the critic that trained what it is about.
type evaluated struct {
	runs.Result
	Critic string `json:"critic"`
}

// committed reads a run's specification, and says which epochs can be evaluated where the one asked for cannot.
func committed(ctx context.Context, b store.Bucket, run string, epoch int) (spec.Spec, error) {
	s, _, err := runs.Run(run).Spec().Read(ctx, b)
	if err != nil {
		return s, fmt.Errorf("run %q: %w", run, err)
	}
	last := -1
	for k := 0; k <= s.Epochs; k++ {
		key := runs.Run(run).Epoch(k).Key
		if k == 0 {
			key = runs.Run(run).Base().Key
		}
		if _, err := b.Get(ctx, key); errors.Is(err, store.ErrNotFound) {
			break
		} else if err != nil {
			return s, err
		}
		last = k
	}
	switch {
	case last < 0:
		return s, fault.New(fault.Invalid, "run %q has no base policy yet", run)
	case epoch < 0 || epoch > last:
		return s, fault.New(fault.Invalid, "--epoch must be from 0 to %d, what run %q has committed, not %d", last, run, epoch)
	}
	return s, nil
}
