package main

import (
	"context"
	"io"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/experiment/estimate"
	"github.com/collabui/collabui/internal/experiment/pilot"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/workers/catalog"
)

// planOptions are the flags of plan.
type planOptions struct {
	episodes int
	up       upOptions
}

func planCmd(a *app) *cobra.Command {
	var o planOptions
	c := &cobra.Command{
		Use:   "plan SPEC",
		Short: "Run a pilot of a few episodes and estimate calls, tokens, money, hours and disk of the whole run",
		Long: `plan runs a pilot of the specification: every stage with a few episodes, as a separate run, with the
same endpoints and budget. It scales what the pilot took to the run. Ranges come from the spread between the pilot's
episodes and calls, and from the length of an expert's episodes, since the pilot's policy is barely trained.

The pilot of an unchanged specification runs once. The run itself is not started.`,
		Example: "  collabui plan my.yaml --episodes 8",
		Args:    cobra.ExactArgs(1),
		RunE:    func(c *cobra.Command, args []string) error { return a.runPlan(c.Context(), o, args[0]) },
	}
	o.addFlags(c.Flags())

	return c
}

func (o *planOptions) addFlags(f *pflag.FlagSet) {
	f.IntVar(&o.episodes, "episodes", 8, "episodes of the pilot, per stage")
	o.up.addFlags(f)
}

// planned is the answer of plan.
type planned struct {
	Pilot    string          `json:"pilot"`
	Spent    runs.Spent      `json:"pilot_spent"`
	Estimate []estimate.Line `json:"estimate"`
}

func (a *app) runPlan(ctx context.Context, o planOptions, file string) error {
	s, err := loadSpec(file)
	if err != nil {
		return err
	}
	if o.episodes < 2 || o.episodes > 100 {
		return fault.New(fault.Invalid, "--episodes must be from 2 to 100, not %d", o.episodes)
	}
	if err := a.ensureUp(ctx, o.up); err != nil {
		return err
	}
	session, err := a.connect(ctx)
	if err != nil {
		return err
	}
	defer session.Close()

	p := pilot.Spec(s, o.episodes)
	if err := session.finish(ctx, p); err != nil {
		return err
	}
	if !hasApps(s) {
		s.Evaluation.TestApps = 0
	}
	measured, err := pilot.Measure(ctx, session.bucket, session.temporal, s, p)
	if err != nil {
		return err
	}
	spent, err := runs.Run(p.Name).Spent(ctx, session.bucket)
	if err != nil {
		return err
	}
	out := planned{Pilot: p.Name, Spent: spent, Estimate: measured.Estimate()}

	return a.print(out, func(w io.Writer) { out.text(w, s, o) })
}

// hasApps reports whether the environment of a specification has the split test-apps.
func hasApps(s spec.Spec) bool {
	suite, err := catalog.OpenEnvironment(s.Where(s.Environment), catalog.Places{Browsers: 1, Tabs: 1})
	if err != nil {
		return false // the pilot has played in it: only this process cannot open it
	}
	defer func() { _ = suite.Close() }()

	return slices.Contains(suite.Splits(), domain.SplitTestApps)
}

func (p planned) text(w io.Writer, s spec.Spec, o planOptions) {
	say(w, "%s, estimated from run %s: %d episodes, %d calls to chat endpoints, cost %.4f\n",
		s.Name, p.Pilot, o.episodes, p.Spent.Calls, p.Spent.Money)
	say(w, "%s", estimate.Text(p.Estimate))
	say(w, "money is that of chat endpoints with prices in the specification; "+
		"hours are those of this machine with %d concurrent episodes", o.up.tabs)
	if n := len(s.Evaluation.OutOfDistribution); n > 0 {
		say(w, "not estimated: the %d evaluations out of distribution, whose environments differ in speed", n)
	}
}
