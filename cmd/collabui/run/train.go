package run

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/cmd/collabui/preflight"
	"github.com/collabui/collabui/cmd/collabui/status"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/workers/catalog"
	"github.com/collabui/collabui/workflows"
)

// trainOptions are the flags of train.
type trainOptions struct {
	run    runOptions
	up     app.ServiceOptions
	check  bool
	detach bool
	until  string

	noProbe bool
}

func trainCmd(a *app.App) *cobra.Command {
	var options trainOptions
	cmd := &cobra.Command{
		Use:   "train SPEC|RUN",
		Short: "Start a run or continue it, and show it",
		Long: `train starts the local services if none run. It starts the run that the specification names, or attaches
to it, and shows it until it ends. Ctrl-C only detaches: the run continues. A finished run is shown, not repeated. A
run of the store, such as a fork, is continued by its name.

--until stage-1 stops when the base policy exists, and shows it and the data cards; without it, the same command
continues from there.`,
		Example: "  collabui train examples/quickstart.yaml\n  collabui train my.yaml --check\n" +
			"  collabui train examples/curriculum.yaml --until stage-1\n  collabui train my-fork",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runTrain(cmd.Context(), a, options, args[0]) },
	}
	options.addFlags(cmd.Flags())

	return cmd
}

func (o *trainOptions) addFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&o.check, "check", false,
		"only validate the specification and print it with all defaults, as YAML that can be trained on")
	flags.StringVar(&o.until, "until", "", "stop after this `STAGE`, stage-1")
	flags.BoolVar(&o.detach, "detach", false, "start the run and return")
	preflight.AddNoProbe(flags, &o.noProbe)
	o.run.addFlags(flags)
	o.up.AddFlags(flags)
}

func runTrain(ctx context.Context, a *app.App, options trainOptions, file string) error {
	if options.until != "" && options.until != status.Stage1 {
		return fault.New(fault.Invalid, "--until must be %s, not %q", status.Stage1, options.until)
	}
	stored := isRun(file)
	if stored && (options.run.name != "" || options.run.seed >= 0 || options.check) {
		return fault.New(fault.Invalid, "--name, --seed and --check need a file with a specification; %q is a run",
			file)
	}
	var of spec.Spec
	if !stored {
		var err error
		if of, err = options.run.load(file); err != nil {
			return err
		}
	}
	if options.check {
		text, err := of.YAML()
		if err != nil {
			return err
		}

		return a.Print(of, func(out io.Writer) { _, _ = out.Write(text) })
	}

	return a.WithServices(ctx, options.up, func(ctx context.Context, session *app.Session) error {
		in := workflows.RunInput{Name: of.Name, FineTune: options.until != ""}
		if stored {
			in.Name = file
			if _, err := runs.Run(file).Find(ctx, session.Store); err != nil {
				return fmt.Errorf("%q is neither a file with a specification nor a run: %w", file, err)
			}
		} else if err := admit(ctx, session, of, options.noProbe, anotherName(file)); err != nil {
			return err
		}

		return goOn(ctx, session, in, options.detach)
	})
}

// runOptions name the run of a specification.
type runOptions struct {
	name string
	seed int64
}

func (o *runOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.name, "name", "", "name of the run, instead of the specification's")
	flags.Int64Var(&o.seed, "seed", -1, "seed, instead of the specification's")
}

// load reads a specification and applies the options.
func (o *runOptions) load(file string) (spec.Spec, error) {
	specification, err := app.LoadSpec(file)
	if err != nil {
		return specification, err
	}
	if o.name != "" {
		specification.Name = o.name
	}
	if o.seed >= 0 {
		specification.Seed = uint64(o.seed)
	}

	return specification, specification.Validate(catalog.All{})
}

// isRun reports whether an argument of train names a run rather than a file.
func isRun(arg string) bool {
	_, err := os.Stat(arg)

	return err != nil && !strings.ContainsAny(arg, "./")
}
