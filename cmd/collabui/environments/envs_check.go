package environments

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/cmd/collabui/terminal"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/acceptance"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/workers/catalog"
)

// checkOptions are the flags of envs check.
type checkOptions struct {
	env   app.EnvironmentOptions
	tasks int // per split; 0 means all
	seed  uint64
}

func envsCheckCmd(a *app.App) *cobra.Command {
	var options checkOptions
	cmd := &cobra.Command{
		Use:   "check [NAME|ws://ADDRESS]",
		Short: "Check that environments can be used here, and that every task fulfils the contract",
		Example: "  collabui envs check\n" +
			"  COLLABUI_MINIWOB=DIR collabui envs check miniwob\n" +
			"  collabui envs check ws://127.0.0.1:8000/ws",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runEnvsCheck(cmd.Context(), a, options, args) },
	}
	flags := cmd.Flags()
	options.env.AddFlags(flags)
	flags.IntVar(&options.tasks, "tasks", 0,
		"templates to check per split, evenly drawn; 0 means all (without NAME: 1)")
	flags.Uint64Var(&options.seed, "seed", 7, "seed of the tasks")

	return cmd
}

func runEnvsCheck(ctx context.Context, a *app.App, options checkOptions, args []string) error {
	if options.tasks < 0 || options.env.Tabs < 0 {
		return fault.New(fault.Invalid, "--tasks and --tabs must be at least 0")
	}
	names := catalog.EnvironmentNames()
	if len(args) == 1 {
		names = args
	} else if options.tasks == 0 {
		options.tasks = 1
	}

	counts := map[outcome]int{}
	for _, name := range names {
		outcome, err := checkSuite(ctx, a, options, name)
		if err != nil {
			return err
		}
		counts[outcome]++
	}
	if len(names) > 1 && !a.JSON {
		terminal.Line(a.Out, "%d passed, %d failed, %d not configured", counts[passed], counts[failed], counts[absent])
	}
	if counts[failed] > 0 || counts[passed] == 0 { // if all are checked, some may be missing
		return fmt.Errorf("%w: see above", app.ErrFailed)
	}

	return nil
}

// outcome is the outcome of checking an environment.
type outcome int

const (
	passed outcome = iota
	failed
	absent // it is not configured
)

// notConfigured is the state of an environment that lacks options.
const notConfigured envadapters.HealthState = "not configured"

// open opens an environment. If that fails, the suite is nil, and the health has the reason and the remedy.
func open(options app.EnvironmentOptions, name string) (envadapters.Suite, envadapters.Health, error) {
	resolved, err := options.Resolve(name)
	if err != nil {
		return nil, envadapters.Health{}, err
	}
	if err := catalog.CheckEnvironment(resolved); err != nil {
		return nil, envadapters.Health{State: notConfigured, Detail: err.Error()}, nil // which names the remedy
	}
	suite, err := options.Open(name)
	if err != nil {
		environment, _ := catalog.FindEnvironment(resolved.Suite)

		return nil, envadapters.Health{State: envadapters.Dead, Detail: err.Error(), Fix: environment.Get}, nil
	}

	return suite, envadapters.Health{}, nil
}

// checkSuite checks one environment.
func checkSuite(ctx context.Context, a *app.App, options checkOptions, name string) (outcome, error) {
	suite, health, err := open(options.env, name)
	if err != nil {
		return failed, err
	}
	if suite != nil {
		defer func() { _ = suite.Close() }()
		health = suite.Check(ctx)
	}
	if err := printHealth(a, name, suite, health); err != nil {
		return failed, err
	}
	switch health.State {
	case notConfigured:
		return absent, nil
	case envadapters.Dead:
		return failed, nil
	}

	problems := acceptance.Suite(ctx, suite)
	for _, p := range problems {
		err := a.Print(map[string]any{"name": name, "problem": p},
			func(out io.Writer) { terminal.Line(out, "  problem: %s", p) })
		if err != nil {
			return failed, err
		}
	}
	ok, err := checkTasks(ctx, a, suite, options)
	if err != nil || !ok || len(problems) > 0 {
		return failed, err
	}

	return passed, nil
}

func printHealth(a *app.App, name string, suite envadapters.Suite, health envadapters.Health) error {
	shown := map[string]any{"name": name, "level": health.State, "detail": health.Detail, "fix": health.Fix}
	if metered, ok := suite.(envadapters.Metered); ok {
		shown["figures"] = metered.Figures()
	}

	return a.Print(shown, func(out io.Writer) {
		terminal.Line(out, "%s: %s — %s", name, health.State, health.Detail)
		if health.Fix != "" {
			terminal.Line(out, "  to do: %s", health.Fix)
		}
	})
}

// tasksToCheck returns one task of every template, in the first split that has it. If the number of templates per split
// is limited, it draws them evenly.
func tasksToCheck(suite envadapters.Suite, perSplit int, seed uint64) ([]domain.Task, error) {
	var tasks []domain.Task
	seen := map[string]bool{}
	recorded := envadapters.ProtocolOf(suite) != ""
	for _, split := range suite.Splits() {
		templates, err := suite.Templates(split)
		if err != nil {
			return nil, err
		}
		every := 1
		if perSplit > 0 {
			every = max(1, (len(templates)+perSplit-1)/perSplit)
		}
		for i := 0; i < len(templates); i += every {
			template := templates[i]
			id := template.Name
			if recorded {
				id = split + "/" + id
			}
			if !seen[id] {
				seen[id] = true
				tasks = append(tasks, domain.Task{
					Suite: suite.Name(), Template: template.Name, Split: split, Seed: seed, MaxSteps: template.MaxSteps,
				})
			}
		}
	}

	return tasks, nil
}

// checkCounts counts the outcomes of the tasks.
type checkCounts struct {
	all, good, identical, experts, solved int
}

func (c *checkCounts) add(report acceptance.Report) {
	count := func(n *int, ok bool) {
		if ok {
			*n++
		}
	}
	c.all++
	count(&c.good, len(report.Problems) == 0)
	count(&c.identical, report.Replay == acceptance.Identical)
	count(&c.experts, report.Expert != acceptance.None)
	count(&c.solved, report.Expert == acceptance.Solves)
}

// checkPlays is how often a task is tried if its environments break.
const checkPlays = 3

// taskCheck is the outcome of checking a task.
type taskCheck struct {
	report acceptance.Report
	broken []error // errors of environments that broke, for which the task is not to blame
}

// checkTask checks a task, again if the environment breaks.
func checkTask(ctx context.Context, suite envadapters.Suite, task domain.Task) (check taskCheck) {
	for len(check.broken) < checkPlays && ctx.Err() == nil {
		report, err := acceptance.Task(ctx, suite, task)
		if fault.KindOf(err) == fault.Void {
			check.broken = append(check.broken, err)
			continue
		}
		if err != nil {
			report.Problems = append(report.Problems, err.Error())
		}
		check.report = report

		break
	}

	return check
}

// checkTasks plays tasks concurrently and prints their reports in order, each as soon as possible.
func checkTasks(ctx context.Context, a *app.App, suite envadapters.Suite, options checkOptions) (bool, error) {
	tasks, err := tasksToCheck(suite, options.tasks, options.seed)
	if err != nil {
		return false, err
	}
	checks := make([]chan taskCheck, len(tasks))
	for i := range checks {
		checks[i] = make(chan taskCheck, 1)
	}
	var players errgroup.Group
	players.SetLimit(options.env.AtOnce() + 1) // including the goroutine that starts them
	players.Go(func() error {
		for i, task := range tasks {
			players.Go(func() error {
				checks[i] <- checkTask(ctx, suite, task)
				return nil
			})
		}
		return nil
	})
	defer func() { _ = players.Wait() }()

	var sum checkCounts
	var broken []error
	unchecked := 0
	for _, check := range checks {
		c := <-check
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		broken = append(broken, c.broken...)
		if len(c.broken) == checkPlays {
			unchecked++
			continue
		}
		sum.add(c.report)
		if err := a.Print(c.report, func(out io.Writer) { printTask(out, c.report) }); err != nil {
			return false, err
		}
	}
	if err := printBroken(a, suite, broken, unchecked); err != nil {
		return false, err
	}
	if !a.JSON {
		terminal.Line(a.Out, "%s: %d of %d tasks fulfil the contract, %d replay identically, "+
			"the expert solves %d of the %d it knows",
			suite.Title(), sum.good, sum.all, sum.identical, sum.solved, sum.experts)
	}

	if sum.experts > 0 && sum.solved == 0 {
		const problem = "the expert solves no task: the expert or the judge is wrong"
		err := a.Print(map[string]any{"name": suite.Name(), "problem": problem},
			func(out io.Writer) { terminal.Line(out, "  problem: %s", problem) })

		return false, err
	}

	return sum.good == sum.all && unchecked == 0, nil
}

// printBroken prints how often environments broke, such as browsers that died, and how many tasks were never played to
// their end.
func printBroken(a *app.App, suite envadapters.Suite, broken []error, unchecked int) error {
	if len(broken) == 0 {
		return nil
	}
	last := broken[len(broken)-1].Error()
	shown := map[string]any{
		"name": suite.Name(), "broken": len(broken), "last": last, "unchecked": unchecked,
	}

	return a.Print(shown, func(out io.Writer) {
		terminal.Line(out, "  environments broke %s, and what they played was played again: %.300s",
			terminal.Count(len(broken), "time"), last)
		if unchecked > 0 {
			terminal.Line(out, "  not checked, because every environment broke that played them: %s",
				terminal.Count(unchecked, "task"))
		}
	})
}

func printTask(out io.Writer, report acceptance.Report) {
	terminal.Line(out, "  %-30s %-15s %4d elements  %3d steps  replay %-9s  expert %-6s  %.60s",
		report.Template, report.Split, report.Elements, report.Steps, report.Replay, report.Expert,
		strings.Join(strings.Fields(report.Goal), " "))
	for _, p := range report.Problems {
		terminal.Line(out, "    problem: %.300s", p)
	}
}
