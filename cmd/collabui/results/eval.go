package results

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/cmd/collabui/status"
	"github.com/collabui/collabui/cmd/collabui/terminal"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/lines"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/workers/catalog"
	"github.com/collabui/collabui/workflows"
)

// evalOptions are the flags of eval.
type evalOptions struct {
	epoch       int
	split       string
	episodes    int
	environment string
	env         app.EnvironmentOptions
	counted     bool // --episodes was set
}

func evalCmd(a *app.App) *cobra.Command {
	var options evalOptions
	cmd := &cobra.Command{
		Use:   "eval RUN",
		Short: "Evaluate the systems of an epoch on a split of an environment",
		Long: `eval evaluates the systems of an epoch of RUN on a split of the run's environment, or of another one. On
recorded tasks it evaluates the systems without policies, too.`,
		Example: "  collabui eval quickstart --epoch 3 --split test-seeds --episodes 300\n" +
			"  collabui eval quickstart --epoch 3 --environment miniwob --split mobile-62 --spec mobile.yaml",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			options.counted = cmd.Flags().Changed("episodes")
			return runEval(cmd.Context(), a, options, args[0])
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&options.epoch, "epoch", 0, "epoch of the systems; 0 is the base policy, alone and n times")
	flags.StringVar(&options.split, "split", domain.SplitVal, "split of the environment")
	flags.IntVar(&options.episodes, "episodes", 100, "episodes per system; by default every recorded task once")
	flags.StringVar(&options.environment, "environment", "",
		"another `NAME` than the run's: an adapter, or a name under environments of the run's specification "+
			"or of --spec")
	options.env.AddFlags(flags)

	return cmd
}

func runEval(ctx context.Context, a *app.App, options evalOptions, run string) error {
	if options.episodes < 1 || options.episodes > 9999 {
		return fault.New(fault.Invalid, "--episodes must be from 1 to 9999, not %d", options.episodes)
	}
	if options.epoch < 0 {
		return fault.New(fault.Invalid, "--epoch must be 0, for the base policy, or a committed epoch, not %d",
			options.epoch)
	}
	if options.split == domain.SplitTrain {
		return fault.New(fault.Invalid, "--split must not be train: the systems were trained on it")
	}

	bucket, _, err := a.OpenStore()
	if err != nil {
		return err
	}
	planned, err := options.plan(ctx, bucket, run)
	if err != nil {
		return err
	}
	results, err := evaluate(ctx, a, planned)
	if err != nil {
		return err
	}

	critic := rules.CriticName(planned.spec, catalog.All{})
	if !a.JSON {
		status.PrintResults(a.Out, results)
		terminal.Line(a.Out, "critic: %s", critic)

		return nil
	}
	for _, result := range results {
		of := struct {
			runs.Result
			Critic string `json:"critic"` // the critic that trained the system
		}{result, critic}
		if err := a.Print(of, nil); err != nil {
			return err
		}
	}

	return nil
}

// evaluation describes what one call of eval evaluates.
type evaluation struct {
	spec  spec.Spec
	id    string // workflow ID
	where string // for people
	items []rules.EvalItem
}

// plan determines what is evaluated: the systems of the epoch, and the references for recorded tasks.
func (o evalOptions) plan(ctx context.Context, bucket store.Bucket, run string) (evaluation, error) {
	specification, err := runs.Run(run).Current(ctx, bucket)
	if err != nil {
		return evaluation{}, err
	}
	if _, err := lines.Find(ctx, bucket, run, o.epoch); err != nil { // not committed
		return evaluation{}, err
	}
	made, err := runs.Run(run).System(ctx, bucket, o.epoch, specification.Agents)
	if err != nil {
		return evaluation{}, err
	}
	systems := rules.EvalSystems(specification, o.epoch, made.Digests())
	on, references, err := o.place(specification)
	if err != nil {
		return evaluation{}, err
	}

	planned := evaluation{spec: specification, where: o.split}
	if on.Environment != "" {
		planned.where = on.Environment + "." + o.split
	}
	for _, evalSystem := range references {
		planned.items = append(planned.items, on.Item(run, fmt.Sprintf("%s-%04d", rules.ReferenceFolder, on.Episodes),
			evalSystem))
	}
	folder := fmt.Sprintf("eval-%04d-%04d", o.epoch, on.Episodes)
	for _, system := range systems {
		planned.items = append(planned.items, on.Item(run, folder, system))
	}
	planned.id = run + "/" + folder + "/" + planned.where

	return planned, nil
}

// place returns the split to play on, and the systems that are shown beside the run's. Options that the run's
// specification does not contain are part of the environment's label, so that results on other data are never reused.
// Every recorded task is played once unless the number of episodes is set.
func (o evalOptions) place(specification spec.Spec) (rules.Split, []rules.EvalSystem, error) {
	on := rules.Split{Name: o.split, Episodes: o.episodes}
	options, err := o.options(specification, &on)
	if err != nil {
		return on, nil, err
	}
	suite, err := catalog.OpenEnvironment(options, catalog.Places{Browsers: 1, Tabs: 1})
	if err != nil {
		return on, nil, err
	}
	defer func() { _ = suite.Close() }()

	templates, err := suite.Templates(o.split)
	if err != nil || envadapters.ProtocolOf(suite) == "" {
		return on, nil, err
	}
	if !o.counted {
		on.Episodes = len(templates)
	}

	return on, rules.References(), nil
}

// options returns the options of the environment to play in. It labels the split unless they are the run's own options.
func (o evalOptions) options(specification spec.Spec, on *rules.Split) (envadapters.Options, error) {
	own := specification.Where(specification.Environment)
	name := o.environment
	if name == "" {
		name = specification.Environment
	}
	options, err := o.env.Options(name, specification)
	if err != nil {
		return options, err
	}

	named := false
	if o.environment != "" {
		_, named = specification.Environments[name]
	}
	switch {
	case named:
		on.Environment = name
		on.Options = options
	case runs.Digest(options) != runs.Digest(own):
		on.Environment = fmt.Sprintf("%s-%.8s", options.Suite, runs.Digest(options))
		on.Options = options
	}

	return options, nil
}

// evaluate runs and shows an evaluation until it ends.
func evaluate(ctx context.Context, a *app.App, planned evaluation) ([]runs.Result, error) {
	session, err := a.Connect(ctx)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	title := "evaluation on " + planned.where
	here, err := session.StartContext(ctx, "")
	if err != nil {
		return nil, err
	}
	run, err := session.Temporal.ExecuteWorkflow(here, app.StartOptions(planned.id, title), workflows.Evaluation,
		planned.items)
	if err != nil {
		return nil, fault.New(fault.Transient, "start the evaluation: %w", err)
	}
	err = status.Attend(ctx, session, run, func(progress *status.Progress) {
		progress.ShowWorkflow(ctx, session.Temporal, title, workflows.Status{Child: run.GetID()})
	})
	if err != nil {
		return nil, fmt.Errorf("evaluation: %w", err)
	}
	var results []runs.Result
	if err := run.Get(ctx, &results); err != nil {
		return nil, fault.New(fault.Transient, "evaluation: %w", err)
	}

	return results, nil
}
