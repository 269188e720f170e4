package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/collabui/collabui/examples"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/design"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/workers/catalog"
)

// reproduceOptions are the flags of reproduce.
type reproduceOptions struct {
	seeds    int
	episodes int
	curve    string
	logprobs string
	arms     []string
	playing  playing
	up       upOptions
}

func reproduceCmd(a *app) *cobra.Command {
	var o reproduceOptions
	c := &cobra.Command{
		Use:   "reproduce " + strings.Join(builtIn(), "|") + "|SPEC",
		Short: "Run a built-in experiment, or test the quickstart's claims on a specification",
		Long: `reproduce runs an experiment that is built in, a file in examples/experiments, as experiment does:

  ablations     the paper's ablations, and where the gain comes from
  attempts      weaker anchors, fresher data, less data: where preference optimisation gains nothing
  attribution   the same policies in other ways: alone, silent, one round, messages of others, one agent less
  baselines     filtered behaviour cloning, and DigiRL's style: learning from outcomes
  beta          β and the weight of the SFT term, on val
  beta-strong   the same from the strong base of the curriculum
  beta-test     what was best on val in beta, on test splits
  controls      whether stage 2 is more than further SFT, imitation and more slots
  critic-noise  what training gains from a critic that errs at random
  curriculum    stage 1 with levels against demonstrations only, at equal optimiser steps
  grpo          preference optimisation against GRPO on the same kind of rollouts and labels
  longer        strong with three times the epochs
  outcomes      one agent that learns from outcomes, with four times the episodes and no gate on val
  preference    preference optimisation against RFT on the same pairs, also with a critic that errs
  quickstart    what training and voting add
  scarce        the primary contrast of attempts with ten seeds
  strong        stage 2 from the curriculum's base, against equally long SFT
  update        what each part of the update does

SPEC is a file: the contrasts of quickstart are tested on that specification.`,
		Example: "  collabui reproduce quickstart --seeds 6 --episodes 600\n" +
			"  collabui reproduce critic-noise --seeds 6 --episodes 300",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return a.runReproduce(c.Context(), o, args[0]) },
	}
	o.addFlags(c.Flags())

	return c
}

func (o *reproduceOptions) addFlags(f *pflag.FlagSet) {
	f.IntVar(&o.seeds, "seeds", 0, "number of seeds (default: those of the file)")
	f.IntVar(&o.episodes, "episodes", 0,
		"paired episodes per system, split and seed (default: those of the file); others make another experiment")
	f.StringVar(&o.curve, "curve", "",
		"also draw success on val by epoch of the first arm, per seed and on average, into `FILE`, an SVG picture")
	f.StringSliceVar(&o.arms, "arms", nil, "train only these arms besides the first, such as old,old-ftx")
	f.StringVar(&o.logprobs, "logprobs", "",
		"also draw log-probabilities of chosen and rejected answers of the first two arms into `FILE`, an SVG picture")
	o.playing.addFlags(f)
	o.up.addFlags(f)
}

// builtIn returns the names of the experiments that are built in, sorted.
func builtIn() []string {
	files, _ := fs.Glob(examples.Files, "experiments/*.yaml") // the pattern is valid
	var names []string
	for _, f := range files {
		names = append(names, strings.TrimSuffix(path.Base(f), ".yaml"))
	}

	return names
}

// builtInExperiment reads an experiment that is built in.
func builtInExperiment(name string) (design.Experiment, error) {
	raw, err := examples.Files.ReadFile("experiments/" + name + ".yaml")
	if err != nil {
		return design.Experiment{}, fault.As(fault.Fatal, err)
	}

	return design.Parse(spec.Source{Name: name, Dir: "experiments"}, raw, examples.Files.ReadFile, catalog.All{})
}

// find returns the experiment that the arguments of reproduce ask for.
func (o reproduceOptions) find(name string) (design.Experiment, error) {
	isBuiltIn := slices.Contains(builtIn(), name)
	from := name
	if !isBuiltIn {
		from = "quickstart"
	}
	x, err := builtInExperiment(from)
	if err != nil {
		return x, err
	}
	if !isBuiltIn {
		if x.Spec, err = loadSpec(name); err != nil {
			return x, err
		}
		x.Name = strings.Trim(fmt.Sprintf("%.16s", x.Spec.Name), "-")
	}
	if o.seeds != 0 {
		x.Seeds = o.seeds
	}
	if o.episodes != 0 {
		x.Name = fmt.Sprintf("%s-%d", x.Name, o.episodes)
		for split := range x.Episodes {
			x.Episodes[split] = o.episodes
		}
	}
	if x.Seeds < 2 || x.Seeds > 99 || o.episodes < 0 || o.episodes > 9999 {
		return x, fault.New(fault.Invalid, "--seeds must be from 2 to 99, --episodes from 1 to 9999")
	}
	if len(o.arms) == 0 {
		return x, nil
	}

	return x.Only(o.arms)
}

func (a *app) runReproduce(ctx context.Context, o reproduceOptions, name string) error {
	x, err := o.find(name)
	if err != nil {
		return err
	}
	if err := x.Validate(catalog.All{}); err != nil {
		return err
	}
	if err := a.ensureUp(ctx, o.up); err != nil {
		return err
	}
	session, err := a.connect(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	tested := session.experimentOf(ctx, x, o.playing)
	if tested != nil && !errors.Is(tested, errFailed) { // a claim that failed is a result
		return tested
	}

	return errors.Join(tested, session.writePictures(ctx, o, x))
}
