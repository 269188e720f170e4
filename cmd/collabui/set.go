package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/process/config"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/workers/catalog"
	"github.com/collabui/collabui/workflows"
)

// setOptions are the flags of set.
type setOptions struct {
	why string
}

func setCmd(a *app) *cobra.Command {
	var o setOptions
	c := &cobra.Command{
		Use:   "set RUN KEY=VALUE…",
		Short: "Change values of a run from the next epoch that begins",
		Long: `set changes values of a run's specification. They count from the next epoch that begins. A budget, the
limits, keys and prices of models, failed_share, serving, epochs and early_stop count immediately. What stage 1 is made
of, the seed and the number of agents cannot be changed: that takes a new run. Every change is recorded with who made it
and why, and is part of the run from there on.`,
		Example: "  collabui set quickstart budget.money=40 --why 'one more epoch'\n" +
			"  collabui set quickstart train.beta=0.5 'decoding.temperatures=[0.3]'",
		Args: cobra.MinimumNArgs(2),
		RunE: func(c *cobra.Command, args []string) error { return a.runSet(c.Context(), o, args[0], args[1:]) },
	}
	c.Flags().StringVar(&o.why, "why", "", "the reason, recorded with the run")

	return c
}

func (a *app) runSet(ctx context.Context, o setOptions, run string, pairs []string) error {
	typed, err := assignments(pairs)
	if err != nil {
		return err
	}
	b, e, err := a.bucket()
	if err != nil {
		return err
	}
	s, err := runs.Run(run).Current(ctx, b)
	if err != nil {
		return err
	}
	// Files are read where they are named.
	change, err := changeRun(ctx, b, e, s, typed, here(), workflows.Command{Who: userName(), Why: o.why})
	if err != nil {
		return err
	}

	return a.print(change, func(w io.Writer) {
		for _, key := range change.Values.Keys() {
			when := "from the next epoch that begins"
			if s.Immediate(key) {
				when = "from now on"
			}
			say(w, "%s: %s is %s %s", run, key, change.Values[key], when)
		}
	})
}

// changeRun changes values of a run: its workflow does, or, if none runs, the next one finds the change.
func changeRun(
	ctx context.Context, b store.Bucket, e config.Endpoints, s spec.Spec, typed map[string]string, src spec.Source,
	c workflows.Command,
) (runs.Change, error) {
	values, err := s.Change(typed, src, catalog.All{})
	if err != nil {
		return runs.Change{}, err
	}
	asked := workflows.SetCommand{Command: c, Values: map[string]string{}}
	for key, v := range values {
		asked.Values[key] = string(v)
	}
	t, err := dial(ctx, e)
	if err != nil {
		return runs.Change{}, err
	}
	defer t.Close()
	change, err := sendSet(ctx, t, s.Name, asked)
	var missing *serviceerror.NotFound
	if errors.As(err, &missing) {
		return setStored(ctx, b, s.Name, asked)
	}

	return change, err
}

// assignments reads KEY=VALUE arguments.
func assignments(pairs []string) (map[string]string, error) {
	out := map[string]string{}
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, fault.New(fault.Invalid, "%q is not KEY=VALUE, such as train.beta=0.5", pair)
		}
		if _, twice := out[key]; twice {
			return nil, fault.New(fault.Invalid, "%s is given twice", key)
		}
		out[key] = value
	}

	return out, nil
}

// here is where values that a person types come from: files that they name are relative to the working directory.
func here() spec.Source {
	dir, err := os.Getwd()
	if err != nil {
		dir = "."
	}

	return spec.Source{Dir: dir, Read: readFile}
}

// sendSet asks the workflow of a run to change values.
func sendSet(ctx context.Context, t client.Client, run string, c workflows.SetCommand) (runs.Change, error) {
	var change runs.Change
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second) // without a worker, no update is answered
	defer cancel()
	h, err := t.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: run, UpdateName: workflows.UpdateSet, WaitForStage: client.WorkflowUpdateStageCompleted,
		Args: []any{c},
	})
	if err == nil {
		err = h.Get(ctx, &change)
	}
	var missing *serviceerror.NotFound
	switch {
	case err == nil || errors.As(err, &missing):
		return change, err
	case ctx.Err() != nil:
		return change, fault.New(fault.Transient, "set %s: no worker answers: %w", run, err)
	}

	return change, fault.New(fault.Invalid, "set %s: %w", run, err)
}

// setStored records a change of a run that no workflow runs.
func setStored(ctx context.Context, b store.Bucket, run string, c workflows.SetCommand) (runs.Change, error) {
	change := runs.Change{Who: c.Who, Why: c.Why, At: time.Now().UTC()}
	change, _, err := runs.Run(run).Set(ctx, b, change, c.Values, spec.Source{}, catalog.All{})
	if err != nil {
		return change, fmt.Errorf("set %s: %w", run, err)
	}

	return change, nil
}
