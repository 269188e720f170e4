package run

import (
	"context"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/cmd/collabui/terminal"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/experiment/pilot"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/workers/catalog"
)

// planOptions are the flags of plan.
type planOptions struct {
	episodes int
	up       app.ServiceOptions
}

func planCmd(a *app.App) *cobra.Command {
	var options planOptions
	cmd := &cobra.Command{
		Use:   "plan SPEC",
		Short: "Run a pilot of a few episodes and estimate calls, tokens, money, hours and disk of the whole run",
		Long: `plan runs a pilot of the specification: every stage with a few episodes, as a separate run, with the
same endpoints and budget. It scales what the pilot took to the run, with episodes as long as an expert's if they
succeed, since the pilot's policy is barely trained. If the run has ended, what it took is printed, too.

The pilot of an unchanged specification runs once. The run itself is not started.`,
		Example: "  collabui plan my.yaml --episodes 8",
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return runPlan(cmd.Context(), a, options, args[0]) },
	}
	cmd.Flags().IntVar(&options.episodes, "episodes", 8, "episodes of the pilot, per stage")
	options.up.AddFlags(cmd.Flags())

	return cmd
}

// planSummary is the output of plan.
type planSummary struct {
	Pilot    string       `json:"pilot"`
	Spent    runs.Spent   `json:"pilot_spent"`
	Estimate []pilot.Line `json:"estimate"`
	Took     []pilot.Line `json:"took,omitempty"` // by the run itself, if it has ended
}

func runPlan(ctx context.Context, a *app.App, options planOptions, file string) error {
	specification, err := app.LoadSpec(file)
	if err != nil {
		return err
	}
	if options.episodes < 2 || options.episodes > 100 {
		return fault.New(fault.Invalid, "--episodes must be from 2 to 100, not %d", options.episodes)
	}
	if err := a.StartServices(ctx, options.up); err != nil {
		return err
	}
	session, err := a.Connect(ctx)
	if err != nil {
		return err
	}
	defer session.Close()

	given := pilot.Spec(specification, options.episodes)
	if err := finish(ctx, session, given); err != nil {
		return err
	}
	took, err := usedByRun(ctx, session, specification)
	if err != nil {
		return err
	}
	countEpisodes(&specification)
	measured, err := pilot.Measure(ctx, session.Store, session.Temporal, specification, given)
	if err != nil {
		return err
	}
	spent, err := runs.Run(given.Name).Spent(ctx, session.Store)
	if err != nil {
		return err
	}
	out := planSummary{Pilot: given.Name, Spent: spent, Estimate: measured.Estimate(), Took: took}

	return a.Print(out, func(w io.Writer) { out.text(w, specification.Name, options.episodes) })
}

// countEpisodes fills in the numbers of episodes that a specification leaves to its environments: the split test-apps
// may not exist, and in the other splits 0 means every template once.
func countEpisodes(s *spec.Spec) {
	if templates(s.Where(s.Environment), domain.SplitTestApps) == 0 {
		s.Evaluation.TestApps = 0
	}
	s.Evaluation.OutOfDistribution = slices.Clone(s.Evaluation.OutOfDistribution)
	for i, elsewhere := range s.Evaluation.OutOfDistribution {
		if elsewhere.Episodes == 0 {
			s.Evaluation.OutOfDistribution[i].Episodes = templates(s.Where(elsewhere.Environment), elsewhere.Split)
		}
	}
}

// templates returns the number of templates of a split. It returns 0 if this process cannot open the environment, in
// which the pilot has played.
func templates(options envadapters.Options, split string) int {
	suite, err := catalog.OpenEnvironment(options, catalog.Places{Browsers: 1, Tabs: 1})
	if err != nil {
		return 0
	}
	defer func() { _ = suite.Close() }()
	if !slices.Contains(suite.Splits(), split) {
		return 0
	}
	all, _ := suite.Templates(split)

	return len(all)
}

// usedByRun returns what the run of a specification used, by kind of work, if it has ended.
func usedByRun(ctx context.Context, session *app.Session, of spec.Spec) ([]pilot.Line, error) {
	run := runs.Run(of.Name)
	if ended, err := run.End().Exists(ctx, session.Store); err != nil || !ended {
		return nil, err
	}
	played, _, err := run.Spec().Must(ctx, session.Store)
	if err != nil || runs.Digest(played) != runs.Digest(of) {
		return nil, err
	}
	works, err := pilot.Measure(ctx, session.Store, session.Temporal, of, of)

	return works.Took(), err
}

func (p planSummary) text(out io.Writer, run string, episodes int) {
	terminal.Line(out, "%s, estimated from run %s: %d episodes, %s to chat endpoints, cost %.4f\n",
		run, p.Pilot, episodes, terminal.Count(p.Spent.Calls, "call"), p.Spent.Money)
	terminal.Line(out, "%s", pilot.Text(p.Estimate))
	if p.Took != nil {
		terminal.Line(out, "The run itself has ended. It took:\n\n%s", pilot.Text(p.Took))
	}
	terminal.Line(out, `
Expect the run to take between 1/%d of these figures and %[1]d times as much. Money is that of chat endpoints with
prices in the specification. Time is that of the workers that played the pilot; give it as many --episodes as they have
places. Places are tabs or emulators that are held, GPUs those of training; policy servers are needed during rollouts
and evaluations, too.`, pilot.Within)
}
