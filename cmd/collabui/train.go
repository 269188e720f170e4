package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/workers/catalog"
	"github.com/collabui/collabui/workflows"
)

// trainOptions are the flags of train.
type trainOptions struct {
	run    runOptions
	up     upOptions
	check  bool
	detach bool
}

func trainCmd(a *app) *cobra.Command {
	var o trainOptions
	c := &cobra.Command{
		Use:   "train SPEC",
		Short: "Start a run or continue it, and show it",
		Long: `train starts the local services if none run. It starts the run that the specification names, or attaches
to it, and shows it until it ends. Ctrl-C only detaches: the run continues. A finished run is shown, not repeated.`,
		Example: "  collabui train examples/quickstart.yaml\n  collabui train my.yaml --check",
		Args:    cobra.ExactArgs(1),
		RunE:    func(c *cobra.Command, args []string) error { return a.runTrain(c.Context(), o, args[0]) },
	}
	o.addFlags(c.Flags())

	return c
}

func (o *trainOptions) addFlags(f *pflag.FlagSet) {
	f.BoolVar(&o.check, "check", false,
		"only validate the specification and print it with all defaults, as YAML that can be trained on")
	f.BoolVar(&o.detach, "detach", false, "start the run and return")
	o.run.addFlags(f)
	o.up.addFlags(f)
}

func (a *app) runTrain(ctx context.Context, o trainOptions, file string) error {
	s, err := o.run.load(file)
	if err != nil {
		return err
	}
	if o.check {
		text, err := s.YAML()
		if err != nil {
			return err
		}

		return a.print(s, func(w io.Writer) { _, _ = w.Write(text) })
	}
	if err := a.ensureUp(ctx, o.up); err != nil {
		return err
	}
	b, e, err := a.bucket()
	if err != nil {
		return err
	}
	if err := recordSpec(ctx, b, s, anotherName(file)); err != nil {
		return err
	}

	ended, err := runs.Run(s.Name).End().Exists(ctx, b)
	if err != nil {
		return err
	}
	if ended {
		return a.showFinished(ctx, b, e, s, file)
	}
	session, err := a.connect(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	if err := session.start(ctx, workflows.RunInput{Name: s.Name}); err != nil {
		return err
	}
	if o.detach {
		return a.print(map[string]any{"run": s.Name, "started": true}, func(w io.Writer) {
			say(w, "run %s continues; watch it with %s", s.Name, a.typed("watch %s", s.Name))
		})
	}

	return session.watch(ctx, s.Name)
}

// runOptions name the run of a specification.
type runOptions struct {
	name string
	seed int64
}

func (o *runOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.name, "name", "", "name of the run, instead of the specification's")
	f.Int64Var(&o.seed, "seed", -1, "seed, instead of the specification's")
}

// load reads a specification and applies the options.
func (o *runOptions) load(file string) (spec.Spec, error) {
	s, err := loadSpec(file)
	if err != nil {
		return s, err
	}
	if o.name != "" {
		s.Name = o.name
	}
	if o.seed >= 0 {
		s.Seed = uint64(o.seed)
	}

	return s, s.Validate(catalog.All{})
}
