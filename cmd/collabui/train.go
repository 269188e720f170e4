package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/workers"
	"github.com/collabui/collabui/workflows"
)

func trainCmd(a *app) *cobra.Command {
	c := &cobra.Command{Use: "train SPEC", Short: "Start a run, or go on with it, and show it", Example: "  collabui train examples/quickstart.yaml\n  collabui train my.yaml --check", Args: cobra.ExactArgs(1),
		Long: "train starts the local services when none run, starts the run that the specification names or attaches to it, and shows it until it ends.\nctrl-C only detaches: the run goes on. A finished run is shown, not repeated."}
	check := c.Flags().Bool("check", false, "only validate the specification and print it with all defaults, as YAML that can be trained on (with --json, as JSON)")
	detach := c.Flags().Bool("detach", false, "start, do not watch")
	name := c.Flags().String("name", "", "run name, instead of the specification's")
	seed := c.Flags().Int64("seed", -1, "seed, instead of the specification's")
	tabs := c.Flags().Int("tabs", defaultTabs, "episodes at once")
	ext := externals(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		s, err := loadSpec(args[0], *name, *seed)
		if err != nil {
			return err
		}
		if *check {
			return a.printSpec(s)
		}
		e, err := ext()
		if err != nil {
			return err
		}
		if err := a.ensureUp(c.Context(), e, *tabs); err != nil {
			return err
		}
		return a.train(c.Context(), s, args[0], *detach)
	}
	return c
}

// printSpec prints a resolved specification as YAML that can be trained on again, or as JSON.
func (a *app) printSpec(s spec.Spec) error {
	text, err := s.YAML()
	if err != nil {
		return err
	}

	return a.print(s, func(w io.Writer) { _, _ = w.Write(text) })
}

// train records the specification, starts or attaches, and watches.
func (a *app) train(ctx context.Context, s spec.Spec, file string, detach bool) error {
	b, e, err := a.bucket()
	if err != nil {
		return err
	}
	if err := recordSpec(ctx, b, s, "give the run another name (in "+file+", or with --name) to start a new one"); err != nil {
		return err
	}
	_, err = b.Get(ctx, runs.Run(s.Name).End().Key)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if err == nil {
		if err := a.showEnd(ctx, b, s.Name); err != nil {
			return err
		}
		if !a.json {
			_, _ = fmt.Fprintf(a.out, "\nThis run is finished. To start another: %s, or edit a copy of the file.\n", a.typed("train %s --name %s-2 --seed %d", file, s.Name, s.Seed+1))
		}
		return nil
	}
	t, err := workers.Dial(ctx, e, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer t.Close()
	if err := start(ctx, t, e.Namespace, workflows.RunInput{Name: s.Name}); err != nil {
		return err
	}
	if detach {
		return a.print(map[string]any{"run": s.Name, "started": true}, func(w io.Writer) {
			_, _ = fmt.Fprintf(w, "run %s goes on; see it with %s\n", s.Name, a.typed("watch %s", s.Name))
		})
	}
	return a.watch(ctx, b, t, e, s.Name)
}

// recordSpec stores a run's specification; another one under a taken name is refused with the difference and what to do.
func recordSpec(ctx context.Context, b store.Bucket, s spec.Spec, do string) error {
	stored, _, err := runs.Run(s.Name).Spec().Record(ctx, b, func() (spec.Spec, error) { return s, nil })
	if err != nil {
		return err
	}
	if diff := difference(stored, s); diff != "" {
		return fault.New(fault.Invalid, "run %q exists with another specification:\n%s%s", s.Name, diff, do)
	}
	return nil
}

// start starts the run's workflow; one that runs already is success.
func start(ctx context.Context, t client.Client, namespace string, in workflows.RunInput) error {
	if err := workers.CheckNamespace(ctx, t, namespace); err != nil {
		return err
	}
	_, err := t.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: in.Name, TaskQueue: workflows.QueueControl, StaticSummary: "training run " + in.Name,
		WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE, WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING},
		workflows.Run, in)
	if err != nil {
		return fault.New(fault.Transient, "start run %s: %w", in.Name, err)
	}
	return nil
}

// difference lists the fields in which two specifications differ, one per line.
func difference(stored, given spec.Spec) string {
	flat := func(s spec.Spec) map[string]string {
		raw, _ := json.Marshal(s) // plain values
		var v map[string]any
		_ = json.Unmarshal(raw, &v)
		out := map[string]string{}
		flatten("", v, out)
		return out
	}
	x, y := flat(stored), flat(given)
	var b strings.Builder
	for k := range y {
		if _, ok := x[k]; !ok {
			x[k] = "nothing"
		}
	}
	for _, k := range sortedKeys(x) {
		if v, ok := y[k]; !ok {
			_, _ = fmt.Fprintf(&b, "  %s: the run has %s, the file says nothing\n", k, x[k])
		} else if x[k] != v {
			_, _ = fmt.Fprintf(&b, "  %s: the run has %s, the file says %s\n", k, x[k], v)
		}
	}
	return b.String()
}

func flatten(path string, v any, out map[string]string) {
	if m, ok := v.(map[string]any); ok {
		for k, x := range m {
			flatten(strings.TrimPrefix(path+"."+k, "."), x, out)
		}
		return
	}
	out[path] = fmt.Sprint(v)
}
