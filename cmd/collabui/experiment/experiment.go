package experiment

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	experimentactivities "github.com/collabui/collabui/activities/experiment"
	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/cmd/collabui/preflight"
	"github.com/collabui/collabui/cmd/collabui/status"
	"github.com/collabui/collabui/cmd/collabui/terminal"
	"github.com/collabui/collabui/examples"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/experiment"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/experiments"
	"github.com/collabui/collabui/workers"
	"github.com/collabui/collabui/workers/catalog"
	"github.com/collabui/collabui/workflows"
)

// experimentOptions are the flags of experiment.
type experimentOptions struct {
	check   bool
	seeds   int
	playing playing
	up      app.ServiceOptions
}

// playing are the flags of commands that play an experiment.
type playing struct {
	detach  bool
	csv     string // file for all episodes
	noProbe bool
}

func (o *playing) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.csv, "csv", "", "also write every episode of every system into `FILE`, as CSV")
	preflight.AddNoProbe(flags, &o.noProbe)
}

func experimentCmd(a *app.App) *cobra.Command {
	var options experimentOptions
	cmd := &cobra.Command{
		Use:   "experiment NAME|FILE",
		Short: "Train the arms of an experiment over seeds and test its contrasts",
		Long: `experiment reads a file that declares arms, which are changes of one specification, seeds, episodes and
contrasts. It trains every arm for every seed, lets the systems of all contrasts play the same episodes, and prints a
table. Arms share with the first what they have equal: stage 1, and first rollouts, labels and pairs.

The declaration is stored before anything is played. A contrast that is added later makes a new version, and is marked
in the table. The experiment may be interrupted: the same command picks it up again.

--check shows what an experiment compares, how many runs and episodes that takes, and the power of contrasts that say
what difference they expect. plan estimates the hours of one run of its specification.

NAME is one of the files in examples/experiments, which are built in:
  ` + strings.Join(builtIn(), "\n  "),
		Example: "  collabui experiment quickstart --check\n  collabui experiment my-experiment.yaml\n" +
			"  collabui experiment critic-noise --seeds 3",
		Args:      cobra.ExactArgs(1),
		ValidArgs: builtIn(),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runExperiment(cmd.Context(), a, options, args[0])
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&options.check, "check", false, "only check the file, and print what would be played")
	flags.IntVar(&options.seeds, "seeds", 0, "number of seeds (default: as in the file)")
	flags.BoolVar(&options.playing.detach, "detach", false,
		"return when the experiment has begun; the same command attaches to it again")
	options.playing.addFlags(flags)
	cmd.MarkFlagsMutuallyExclusive("check", "detach", "csv")
	options.up.AddFlags(flags)

	return cmd
}

// builtIn returns the names of the built-in experiments, sorted.
func builtIn() []string {
	files, _ := fs.Glob(examples.Files, "experiments/*.yaml") // the pattern is valid
	var names []string
	for _, file := range files {
		names = append(names, strings.TrimSuffix(path.Base(file), ".yaml"))
	}

	return names
}

// loadExperiment reads a built-in experiment, or one from a file.
func loadExperiment(name string) (experiment.Experiment, error) {
	if slices.Contains(builtIn(), name) {
		raw, err := examples.Files.ReadFile("experiments/" + name + ".yaml")
		if err != nil {
			return experiment.Experiment{}, fault.As(fault.Fatal, err)
		}

		return experiment.Parse(spec.Source{Name: name, Dir: "experiments"}, raw, examples.Files.ReadFile,
			catalog.All{})
	}

	raw, err := app.ReadFile(name)
	if err != nil {
		return experiment.Experiment{}, fault.New(fault.Invalid, "read the experiment: %w; built in are %s", err,
			strings.Join(builtIn(), ", "))
	}
	abs, err := filepath.Abs(name)
	if err != nil {
		return experiment.Experiment{}, fault.New(fault.Invalid, "read the experiment: %w", err)
	}

	return experiment.Parse(spec.Source{Name: name, Dir: filepath.Dir(abs)}, raw, app.ReadFile, catalog.All{})
}

// load returns the experiment that the options specify.
func (o experimentOptions) load(name string) (experiment.Experiment, error) {
	declared, err := loadExperiment(name)
	if err != nil {
		return declared, err
	}
	if o.seeds != 0 {
		declared.Seeds = o.seeds
	}
	if declared.Seeds < 2 || declared.Seeds > 99 { // the number in a file was checked when it was read
		return declared, fault.New(fault.Invalid, "--seeds must be from 2 to 99, not %d", declared.Seeds)
	}

	return declared, nil
}

func runExperiment(ctx context.Context, a *app.App, options experimentOptions, name string) error {
	declared, err := options.load(name)
	if err != nil {
		return err
	}
	if options.check {
		return a.Print(declared, func(out io.Writer) { printDeclared(out, declared) })
	}
	if err := a.StartServices(ctx, options.up); err != nil {
		return err
	}
	session, err := a.Connect(ctx)
	if err != nil {
		return err
	}
	defer session.Close()

	return experimentOf(ctx, session, declared, options.playing)
}

// experimentOf declares an experiment that can be played to its end, plays it and prints its table.
func experimentOf(ctx context.Context, session *app.Session, declared experiment.Experiment, options playing) error {
	if err := workers.CheckNamespace(ctx, session.Temporal, session.Endpoints.Namespace); err != nil {
		return err
	}
	if err := admitExperiment(ctx, session, declared, options.noProbe); err != nil {
		return err
	}
	version, err := experiments.Declare(ctx, session.Store, declared, app.UserName(), time.Now().UTC())
	if err != nil {
		return err
	}
	result := experiments.Experiment(declared.Name).Result(version.Number)
	for try := 1; ; try++ {
		r, tested, err := result.May(ctx, session.Store)
		if err == nil && !tested && try > 2 { // at first, an earlier version may still be played
			_, _, err = result.Must(ctx, session.Store)
		}
		if err != nil {
			return err
		}
		if tested {
			return publish(ctx, session, version, r, options.csv)
		}

		id := workflows.ExperimentWorkflowID(declared.Name)
		here, err := session.StartContext(ctx, "")
		if err != nil {
			return err
		}
		workflowRun, err := session.Temporal.ExecuteWorkflow(here, app.StartOptions(id, "experiment "+declared.Name),
			workflows.Experiment,
			workflows.ExperimentInput{ID: experimentactivities.ID{Name: declared.Name,
				Version: version.Number}})
		if err != nil {
			return fault.New(fault.Transient, "start experiment %s: %w", declared.Name, err)
		}
		if options.detach {
			return session.Print(map[string]any{"experiment": declared.Name, "version": version.Number},
				func(out io.Writer) {
					terminal.Line(out, "experiment %s continues; the same command shows it", declared.Name)
				})
		}
		if err := status.Attend(ctx, session, workflowRun, showExperiment(ctx, session, id)); err != nil {
			return fmt.Errorf("experiment %s: %w", declared.Name, err)
		}
	}
}

// publish prints the table of an experiment that has ended, and writes its episodes if csv names a file.
func publish(
	ctx context.Context, session *app.Session, version experiments.Version, result experiments.Result, csv string,
) error {
	if csv != "" {
		if err := writeEpisodes(ctx, session, version.Experiment, csv); err != nil {
			return err
		}
	}

	return printTable(session, version, result)
}

// showExperiment returns a function that shows the progress of an experiment, and the run of the arm that trains.
func showExperiment(ctx context.Context, session *app.Session, id string) func(*status.Progress) {
	var before workflows.ExperimentStatus
	var began time.Time // when the arm being played began; zero if unknown

	return func(progress *status.Progress) {
		var st workflows.ExperimentStatus
		if !app.Query(ctx, session.Temporal, id, workflows.QueryStatus, &st) || st.All == 0 {
			return
		}
		if st.Arm != before.Arm || st.Seed != before.Seed {
			var took time.Duration
			if st.Done == before.Done+1 && !before.Ended && !began.IsZero() {
				took = time.Since(began)
			}
			if before.All > 0 {
				began = time.Now()
			}
			progress.Line("%s", armsPlayed(st, took))
		}
		if st.Waits != "" && st.Waits != before.Waits {
			progress.Line("it is tried again, because %s", st.Waits)
		}
		before = st

		switch {
		case st.Arm == "":
			progress.Show("testing the contrasts")
		case st.Run != "":
			progress.Run = st.Run
			progress.ShowRun(ctx, session.Temporal)
		default:
			progress.ShowWorkflow(ctx, session.Temporal, st.Arm, workflows.Status{Child: st.Child})
		}
	}
}

// armsPlayed reports how many arms are played and which is next, and forecasts the rest if the last arm took some time.
func armsPlayed(st workflows.ExperimentStatus, took time.Duration) string {
	text := fmt.Sprintf("%d of %d arms are played", st.Done, st.All)
	if st.Arm != "" {
		text += fmt.Sprintf(", next is %s of seed %d", st.Arm, st.Seed)
	}

	return text + terminal.Left(took*time.Duration(st.All-st.Done))
}
