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

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/cmd/collabui/preflight"
	"github.com/collabui/collabui/cmd/collabui/status"
	"github.com/collabui/collabui/cmd/collabui/terminal"
	"github.com/collabui/collabui/examples"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/design"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store/experiments"
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

func (o *playing) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.csv, "csv", "", "also write every episode of every system into `FILE`, as CSV")
	preflight.AddNoProbe(f, &o.noProbe)
}

func experimentCmd(a *app.App) *cobra.Command {
	var o experimentOptions
	c := &cobra.Command{
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
		RunE:      func(c *cobra.Command, args []string) error { return runExperiment(c.Context(), a, o, args[0]) },
	}
	f := c.Flags()
	f.BoolVar(&o.check, "check", false, "only check the file, and print what would be played")
	f.IntVar(&o.seeds, "seeds", 0, "number of seeds (default: that of the file)")
	f.BoolVar(&o.playing.detach, "detach", false,
		"return when the experiment has begun; the same command attaches to it again")
	o.playing.addFlags(f)
	c.MarkFlagsMutuallyExclusive("check", "detach", "csv")
	o.up.AddFlags(f)

	return c
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
func loadExperiment(name string) (design.Experiment, error) {
	if slices.Contains(builtIn(), name) {
		raw, err := examples.Files.ReadFile("experiments/" + name + ".yaml")
		if err != nil {
			return design.Experiment{}, fault.As(fault.Fatal, err)
		}

		return design.Parse(spec.Source{Name: name, Dir: "experiments"}, raw, examples.Files.ReadFile, catalog.All{})
	}

	raw, err := app.ReadFile(name)
	if err != nil {
		return design.Experiment{}, fault.New(fault.Invalid, "read the experiment: %w; built in are %s", err,
			strings.Join(builtIn(), ", "))
	}
	abs, err := filepath.Abs(name)
	if err != nil {
		return design.Experiment{}, fault.New(fault.Invalid, "read the experiment: %w", err)
	}

	return design.Parse(spec.Source{Name: name, Dir: filepath.Dir(abs)}, raw, app.ReadFile, catalog.All{})
}

// load returns the experiment that the options specify.
func (o experimentOptions) load(name string) (design.Experiment, error) {
	x, err := loadExperiment(name)
	if err != nil {
		return x, err
	}
	if o.seeds != 0 {
		x.Seeds = o.seeds
	}
	if x.Seeds < 2 || x.Seeds > 99 { // the number in a file was checked when it was read
		return x, fault.New(fault.Invalid, "--seeds must be from 2 to 99, not %d", x.Seeds)
	}

	return x, nil
}

func runExperiment(ctx context.Context, a *app.App, o experimentOptions, name string) error {
	x, err := o.load(name)
	if err != nil {
		return err
	}
	if o.check {
		return a.Print(x, func(w io.Writer) { printDeclared(w, x) })
	}
	if err := a.StartServices(ctx, o.up); err != nil {
		return err
	}
	session, err := a.Connect(ctx)
	if err != nil {
		return err
	}
	defer session.Close()

	return experimentOf(ctx, session, x, o.playing)
}

// experimentOf declares an experiment that can be played to its end, plays it and prints its table.
func experimentOf(ctx context.Context, s *app.Session, x design.Experiment, o playing) error {
	if err := workers.CheckNamespace(ctx, s.Temporal, s.Endpoints.Namespace); err != nil {
		return err
	}
	if err := admitExperiment(ctx, s, x, o.noProbe); err != nil {
		return err
	}
	v, err := experiments.Declare(ctx, s.Store, x, app.UserName(), time.Now().UTC())
	if err != nil {
		return err
	}
	result := experiments.Experiment(x.Name).Result(v.Number)
	for try := 1; ; try++ {
		r, tested, err := result.May(ctx, s.Store)
		if err == nil && !tested && try > 2 { // at first, an earlier version may still be played
			_, _, err = result.Must(ctx, s.Store)
		}
		if err != nil {
			return err
		}
		if tested {
			return publish(ctx, s, v, r, o.csv)
		}

		id := workflows.ExperimentWorkflowID(x.Name)
		here, err := s.StartContext(ctx, "")
		if err != nil {
			return err
		}
		w, err := s.Temporal.ExecuteWorkflow(here, app.StartOptions(id, "experiment "+x.Name), workflows.Experiment,
			workflows.ExperimentInput{ExperimentID: activities.ExperimentID{Name: x.Name, Version: v.Number}})
		if err != nil {
			return fault.New(fault.Transient, "start experiment %s: %w", x.Name, err)
		}
		if o.detach {
			return s.Print(map[string]any{"experiment": x.Name, "version": v.Number}, func(w io.Writer) {
				terminal.Line(w, "experiment %s goes on; the same command shows it", x.Name)
			})
		}
		if err := status.Attend(ctx, s, w, showExperiment(ctx, s, id)); err != nil {
			return fmt.Errorf("experiment %s: %w", x.Name, err)
		}
	}
}

// publish prints the table of an experiment that has ended, and writes its episodes if csv names a file.
func publish(ctx context.Context, s *app.Session, v experiments.Version, r experiments.Result, csv string) error {
	if csv != "" {
		if err := writeEpisodes(ctx, s, v.Experiment, csv); err != nil {
			return err
		}
	}

	return printTable(s, v, r)
}

// showExperiment returns a function that shows the progress of an experiment, and the run of the arm that trains.
func showExperiment(ctx context.Context, s *app.Session, id string) func(*status.Progress) {
	var before workflows.ExperimentStatus
	var began time.Time // when the arm being played began; zero if unknown

	return func(p *status.Progress) {
		var st workflows.ExperimentStatus
		if !app.Query(ctx, s.Temporal, id, workflows.QueryStatus, &st) || st.All == 0 {
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
			p.Line("%s", armsPlayed(st, took))
		}
		if st.Waits != "" && st.Waits != before.Waits {
			p.Line("it is tried again, because %s", st.Waits)
		}
		before = st

		switch {
		case st.Arm == "":
			p.Show("testing the contrasts")
		case st.Run != "":
			p.Run = st.Run
			p.ShowRun(ctx, s.Temporal)
		default:
			p.ShowWorkflow(ctx, s.Temporal, st.Arm, workflows.Status{Child: st.Child})
		}
	}
}

// armsPlayed reports how many arms are played and which is next, and forecasts the rest if the last arm took some time.
func armsPlayed(st workflows.ExperimentStatus, took time.Duration) string {
	text := fmt.Sprintf("%d of %d arms are played", st.Done, st.All)
	if st.Arm != "" {
		text += fmt.Sprintf(", next is %s of seed %d", st.Arm, st.Seed)
	}
	if left := took * time.Duration(st.All-st.Done); left > 0 {
		text += fmt.Sprintf(", about %s left", left.Round(time.Second))
	}

	return text
}
