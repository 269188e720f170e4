package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/examples"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/experiment/claims"
	"github.com/collabui/collabui/internal/experiment/plot"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/workers/catalog"
	"github.com/collabui/collabui/workflows"
)

// reproduceOptions are the flags of reproduce.
type reproduceOptions struct {
	seeds    int
	episodes int
	curve    string
	logprobs string
	arms     []string
	up       upOptions
}

func reproduceCmd(a *app) *cobra.Command {
	var o reproduceOptions
	c := &cobra.Command{
		Use:   "reproduce quickstart|critic-noise|curriculum|preference|update|SPEC",
		Short: "Train over several seeds and test the claims with intervals over seeds",
		Long: `reproduce trains one run per seed, stage 1 included, and evaluates its systems on the same episodes of
the test splits. Systems that only a comparison on test-seeds needs play only there. It prints mean differences with
t-intervals over seeds at 95 %. It may be interrupted: the runs continue, and the same command picks them up again.

critic-noise trains with critics that err at random, from the same base policies: what does training still gain?
curriculum compares stage 1 with levels and with demonstrations only, at equal optimiser steps.
preference compares preference optimisation with RFT on the same pairs, also with a critic that errs.
update changes one part of the update at a time: what does each part do?`,
		Example: "  collabui reproduce quickstart --seeds 6 --episodes 600\n" +
			"  collabui reproduce critic-noise --seeds 6 --episodes 300",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return a.runReproduce(c.Context(), o, args[0]) },
	}
	o.addFlags(c.Flags())

	return c
}

func (o *reproduceOptions) addFlags(f *pflag.FlagSet) {
	f.IntVar(&o.seeds, "seeds", 6, "number of seeds, from 1")
	f.IntVar(&o.episodes, "episodes", 600, "paired episodes per system, split and seed")
	f.StringVar(&o.curve, "curve", "",
		"also draw success on val by epoch, per seed and on average, into `FILE`, an SVG picture; of an experiment, "+
			"that of its first arm")
	f.StringSliceVar(&o.arms, "arms", nil,
		"of an experiment, train only these arms besides the first, such as old,old-ftx")
	f.StringVar(&o.logprobs, "logprobs", "",
		"of an experiment, also draw log-probabilities of chosen and rejected answers of its first two arms into "+
			"`FILE`, an SVG picture")
	o.up.addFlags(f)
}

func (a *app) runReproduce(ctx context.Context, o reproduceOptions, name string) error {
	experiment, isExperiment := claims.Experiments()[name]
	var s spec.Spec
	if isExperiment && len(o.arms) > 0 {
		var err error
		if experiment, err = experiment.Only(o.arms); err != nil {
			return fault.New(fault.Invalid, "--arms: %s: %w", name, err)
		}
	}
	if !isExperiment {
		var err error
		if s, err = namedSpec(name); err != nil {
			return err
		}
		if err := s.CheckReproduction(catalog.All{}); err != nil {
			return err
		}
	}
	if o.seeds < 2 || o.episodes < 1 || o.episodes > 9999 {
		return fault.New(fault.Invalid, "--seeds must be at least 2, --episodes from 1 to 9999")
	}
	if err := a.ensureUp(ctx, o.up); err != nil {
		return err
	}
	session, err := a.connect(ctx)
	if err != nil {
		return err
	}
	defer session.Close()

	if isExperiment {
		return session.experiment(ctx, o, name, experiment)
	}

	return session.reproduce(ctx, o, s)
}

// namedSpec returns the example of this name, or else reads the file of this name.
func namedSpec(name string) (spec.Spec, error) {
	if name == "quickstart" {
		return spec.Parse(spec.Source{Name: "examples/quickstart.yaml"}, examples.Quickstart, catalog.All{})
	}

	return loadSpec(name)
}

// reproduce trains and evaluates the specification over seeds, and tests the claims.
func (s *session) reproduce(ctx context.Context, o reproduceOptions, x spec.Spec) error {
	name := x.Name
	var seeds []claims.Rates
	var all []claims.Results
	var curves []plot.Curve
	for k := 1; k <= o.seeds; k++ {
		x.Name, x.Seed = fmt.Sprintf("%s-r%d-%d", name, k, o.episodes), uint64(k)
		x.Evaluation = x.Evaluation.WithoutTests() // the reproduction plays the test splits
		results, err := s.reproduceSeed(ctx, x, o.episodes)
		if err != nil {
			return err
		}
		end, _, err := runs.Run(x.Name).End().Read(ctx, s.bucket)
		if err != nil {
			return err
		}
		rates := results.Rates()
		seeds, all = append(seeds, rates), append(all, results)
		curves = append(curves, plot.Curve{Name: x.Name, Points: end.Curve})
		if !s.json {
			printSeed(s.out, k, rates, x.Agents)
		}
	}

	if o.curve != "" {
		title := fmt.Sprintf("%s: success on val by epoch, %d seeds and their mean", name, o.seeds)
		if err := writeCurves(o.curve, title, append(curves, plot.Mean(curves))...); err != nil {
			return err
		}
	}
	tested := claims.Test(seeds, x)
	shown := map[string]any{
		"seeds": o.seeds, "episodes": o.episodes, "rates": seeds, "claims": tested,
		"tokens_per_success": claims.TokensOf(all),
		"critic":             rules.CriticName(x, catalog.All{}), "decoding": claims.Decoding(x),
	}
	if err := s.print(shown, func(w io.Writer) { printClaims(w, tested, claims.TokensOf(all), x, o) }); err != nil {
		return err
	}

	return failed(tested)
}

// reproduceSeed finishes the run of one seed and its reproduction. What is finished is not repeated.
func (s *session) reproduceSeed(ctx context.Context, x spec.Spec, episodes int) (claims.Results, error) {
	if err := s.finish(ctx, x); err != nil {
		return nil, err
	}
	id := x.Name + "/reproduce"
	w, err := s.temporal.ExecuteWorkflow(ctx, startOptions(id, "reproduction of "+x.Name), workflows.Reproduction,
		activities.ReproductionID{Run: x.Name, Episodes: episodes})
	if err == nil {
		err = s.attend(ctx, w, func(v *viewer) {
			v.progress(ctx, s.temporal, x.Name+": contestants", id+"/eval")
		})
	}
	if err != nil {
		return nil, fault.New(fault.Transient, "reproduction of %s: %w", x.Name, err)
	}

	return claims.ReadResults(ctx, s.bucket, x)
}

// failed returns an error if a claim does not hold.
func failed(tested []claims.Claim) error {
	if c, failed := claims.Failed(tested); failed {
		return fmt.Errorf("%w: %s", errFailed, c.Name)
	}

	return nil
}

// printSeed prints the main rates of one seed.
func printSeed(w io.Writer, seed int, rates claims.Rates, n int) {
	base, trained := rules.BaseName(n), rules.TrainedName(n)
	percent := func(system, split string) float64 { return 100 * rates[claims.Key(system, split)] }
	const seeds, held = domain.SplitTestSeeds, domain.SplitTestTemplates
	say(w, "seed %d: base-1 %.1f, %s %.1f, %s %.1f on %s; %s %.1f, %s %.1f on %s", seed,
		percent("base-1", seeds), base, percent(base, seeds), trained, percent(trained, seeds), seeds,
		base, percent(base, held), trained, percent(trained, held), held)
}

func printClaims(w io.Writer, tested []claims.Claim, tokens claims.Tokens, s spec.Spec, o reproduceOptions) {
	say(w, "\n%d seeds, %d paired episodes per system, split and seed; differences in points, "+
		"t-intervals over seeds at 95 %%", o.seeds, o.episodes)
	say(w, "critic: %s · decoding: %s\n", rules.CriticName(s, catalog.All{}), claims.Decoding(s))
	for _, c := range tested {
		say(w, "%-44s %+6.1f  [%+.1f, %+.1f]  %s", c.Name, c.Mean, c.Low, c.High, c.Verdict())
	}
	say(w, "\ntokens of the agents per success, prompts and answers, over all seeds")
	for _, key := range sortedKeys(tokens) {
		say(w, "%-44s %8.0f", key, tokens[key])
	}
}
