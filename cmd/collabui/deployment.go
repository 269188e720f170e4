package main

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/workers"
	"github.com/collabui/collabui/workflows"
)

func deploymentCmd(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "deployment", Short: "Move runs to another build of the workers, between two of their epochs",
		Long: `deployment shows the builds of the workers that were started with --build. A run stays on the build on
which an epoch began until the epoch is committed, and goes on with the current build. Workers of a build that is
drained may be stopped.`,
		Example: "  collabui deployment\n  collabui deployment promote 2026-11-25",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return a.showBuilds(c.Context()) },
	}
	c.AddCommand(promoteBuildCmd(a))

	return c
}

func promoteBuildCmd(a *app) *cobra.Command {
	var unchecked bool
	var run string
	c := &cobra.Command{
		Use: "promote BUILD", Short: "Make a build the current one, once it has shown that it can continue runs",
		Long: `promote first runs the workflow Canary on workers of the build: they replay recorded histories and play
one task of an open run, without a record of it. Then runs begin on the build, and open runs move to it after their
epoch. Back to an earlier build is the same command with its name.`,
		Example: "  collabui deployment promote 2026-11-25",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.promoteBuild(c.Context(), args[0], run, unchecked)
		},
	}
	c.Flags().BoolVar(&unchecked, "unchecked", false, "do not check the build first")
	c.Flags().StringVar(&run, "run", "", "`RUN` whose task the canary plays (default: one that is open)")

	return c
}

func (a *app) showBuilds(ctx context.Context) error {
	session, err := a.connect(ctx)
	if err != nil {
		return err
	}
	defer session.Close()

	return session.showBuilds(ctx)
}

func (s *session) showBuilds(ctx context.Context) error {
	builds, err := workers.Builds(ctx, s.temporal)
	var none *serviceerror.NotFound
	if errors.As(err, &none) {
		return fault.New(fault.Invalid, "no worker of the deployment %q has named its build: start workers with "+
			"--build NAME, or name their deployment in %s", workers.Deployment(), workers.EnvDeployment)
	}
	if err != nil {
		return err
	}

	return s.print(map[string]any{"builds": builds}, func(w io.Writer) {
		for _, b := range builds {
			say(w, "%-24s %-8s since %s", b.ID, b.State, b.Since.Local().Format(time.DateTime))
		}
	})
}

func (a *app) promoteBuild(ctx context.Context, build, run string, unchecked bool) error {
	session, err := a.connect(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	if !unchecked {
		if err := session.checkBuild(ctx, build, run); err != nil {
			return err
		}
	}
	if err := workers.Promote(ctx, session.temporal, build); err != nil {
		return fault.New(fault.Invalid, "build %s did not become the current one: %w", build, err)
	}

	return session.showBuilds(ctx)
}

// checkBuild runs the canary on a build.
func (s *session) checkBuild(ctx context.Context, build, run string) error {
	in, err := s.canary(ctx, run)
	if err != nil {
		return err
	}
	out, err := workers.CheckBuild(ctx, s.temporal, build, in)
	if err != nil {
		return fault.New(fault.Invalid, "build %s was not promoted, because its canary failed: %w", build, err)
	}
	if in.Run == "" {
		say(s.err, "%d histories replay; no run is open whose task could be played", out.Histories)
	} else {
		say(s.err, "%d histories replay; %s of %s was played in %d steps",
			out.Histories, out.Played.Task, in.Run, out.Played.Steps)
	}

	return nil
}

// canary returns what a build must play: a task of a run, by its newest system.
func (s *session) canary(ctx context.Context, run string) (workflows.CanaryInput, error) {
	if run == "" {
		open, err := s.temporal.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Namespace: s.ends.Namespace, PageSize: 1,
			Query: `WorkflowType = "Run" AND ExecutionStatus = "Running"`,
		})
		if err != nil || len(open.Executions) == 0 {
			return workflows.CanaryInput{}, err
		}
		run = open.Executions[0].Execution.WorkflowId
	}
	base, err := runs.Run(run).Base().Exists(ctx, s.bucket)
	if err != nil || !base { // stage 1 is not over: there is no system yet
		return workflows.CanaryInput{}, err
	}
	epoch, err := runs.Run(run).Committed(ctx, s.bucket)

	return workflows.CanaryInput{Run: run, Epoch: epoch}, err
}
