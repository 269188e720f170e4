package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"time"

	"github.com/spf13/cobra"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/examples"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/workers"
	"github.com/collabui/collabui/workers/catalog"
	"github.com/collabui/collabui/workflows"
)

func reproduceCmd(a *app) *cobra.Command {
	c := &cobra.Command{Use: "reproduce quickstart|critic-noise|curriculum|SPEC", Short: "Train over several seeds and test the claims with intervals over seeds", Args: cobra.ExactArgs(1),
		Example: "  collabui reproduce quickstart --seeds 6 --episodes 600\n  collabui reproduce critic-noise --seeds 3 --episodes 300",
		Long:    "reproduce trains one run per seed, stage 1 included, and evaluates its systems on the same episodes of the test splits (what serves a comparison on test-seeds\nonly is played there only). It prints mean differences with t-intervals over seeds at 95 %. It may be interrupted: the runs go on, and the same command goes on with them.\ncritic-noise trains with critics that err at random, from the same base policies: what does the loop still gain? curriculum compares stage 1 with levels and with\ndemonstrations only, at equal optimiser steps."}
	seeds := c.Flags().Int("seeds", 6, "seeds 1..N")
	episodes := c.Flags().Int("episodes", 600, "paired episodes per system, split and seed")
	tabs := c.Flags().Int("tabs", defaultTabs, "episodes at once")
	file := c.Flags().String("curve", "", "also draw success on val by epoch, per seed and on average, into `FILE`, an SVG picture")
	ext := externals(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		x, isExperiment := experiments()[args[0]]
		var s spec.Spec
		if !isExperiment {
			var err error
			if s, err = namedSpec(args[0]); err != nil {
				return err
			}
		}
		if *seeds < 2 || *episodes < 1 || *episodes > 9999 {
			return fault.New(fault.Invalid, "--seeds must be at least 2, --episodes from 1 to 9999")
		}
		e, err := ext()
		if err != nil {
			return err
		}
		if err := a.ensureUp(c.Context(), e, *tabs); err != nil {
			return err
		}
		if isExperiment {
			return a.experiment(c.Context(), args[0], x, *seeds, *episodes)
		}
		return a.reproduce(c.Context(), s, *seeds, *episodes, *file)
	}
	return c
}

// namedSpec knows the example by its name; anything else is a file.
func namedSpec(name string) (spec.Spec, error) {
	if name == "quickstart" {
		return spec.Parse("examples/quickstart.yaml", examples.Quickstart, catalog.All{})
	}
	return spec.Load(name, catalog.All{})
}

func (a *app) reproduce(ctx context.Context, s spec.Spec, seeds, episodes int, file string) error {
	b, e, err := a.bucket()
	if err != nil {
		return err
	}
	t, err := workers.Dial(ctx, e, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer t.Close()
	base := s.Name
	var rows []rates
	var curves []curve
	for k := 1; k <= seeds; k++ {
		s.Name, s.Seed = fmt.Sprintf("%s-r%d-%d", base, k, episodes), uint64(k)
		s.Evaluation.TestSeeds, s.Evaluation.TestTemplates = 0, 0 // the reproduction reads the test splits, once
		if err := a.finishRun(ctx, b, t, e.Namespace, s); err != nil {
			return err
		}
		if err := a.reproduceSeed(ctx, t, s.Name, episodes); err != nil {
			return err
		}
		r, err := readRates(ctx, b, s)
		if err != nil {
			return err
		}
		rows = append(rows, r)
		end, _, err := runs.Run(s.Name).End().Read(ctx, b)
		if err != nil {
			return err
		}
		curves = append(curves, curve{name: s.Name, points: end.Curve})
		if !a.json {
			_, _ = fmt.Fprintf(a.out, "seed %d: base-1 %.1f, base-%d %.1f, trained-%d %.1f on test-seeds; base-%d %.1f, trained-%d %.1f on test-templates\n", k, 100*r["base-1/test-seeds"], s.Agents, 100*r[key("base", s)+"/test-seeds"],
				s.Agents, 100*r[key("trained", s)+"/test-seeds"], s.Agents, 100*r[key("base", s)+"/test-templates"], s.Agents, 100*r[key("trained", s)+"/test-templates"])
		}
	}
	if file != "" {
		if err := writeCurves(file, fmt.Sprintf("%s: success on val by epoch, %d seeds and their mean", base, seeds), append(curves, mean(curves))); err != nil {
			return err
		}
	}
	claims := judge(rows, s)
	shown := map[string]any{"seeds": seeds, "episodes": episodes, "rates": rows, "claims": claims, "critic": rules.CriticName(s, catalog.All{}), "decoding": decodings(s)}
	if err := a.print(shown, func(w io.Writer) { printClaims(w, claims, s, seeds, episodes) }); err != nil {
		return err
	}
	return failedClaim(claims)
}

// mean of curves that have the same epochs.
func mean(curves []curve) curve {
	out := curve{name: "mean", strong: true}
	for i, p := range curves[0].points {
		rate := 0.0
		for _, c := range curves {
			rate += c.points[i].Rate / float64(len(curves))
		}
		out.points = append(out.points, runs.EvalPoint{At: p.At, Rate: rate})
	}
	return out
}

func key(kind string, s spec.Spec) string { return fmt.Sprintf("%s-%d", kind, s.Agents) }

// attendRun runs a training to its end and shows it.
func (a *app) attendRun(ctx context.Context, t client.Client, namespace, run string) error {
	if err := start(ctx, t, namespace, workflows.RunInput{Name: run}); err != nil {
		return err
	}
	if err := a.attend(ctx, t, t.GetWorkflow(ctx, run, ""), func(v *viewer) {
		var st workflows.Status
		if query(ctx, t, run, workflows.QueryStatus, &st) {
			v.status(ctx, t, st)
		}
	}); err != nil {
		return fault.New(fault.Transient, "run %s: %w", run, err)
	}
	return nil
}

// reproduceSeed runs the reproduction of a finished run; what is finished returns at once.
func (a *app) reproduceSeed(ctx context.Context, t client.Client, run string, episodes int) error {
	w, err := t.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: run + "/reproduce", TaskQueue: workflows.QueueControl, StaticSummary: "reproduction of " + run,
		WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE, WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING}, workflows.Reproduction, activities.ReproductionID{Run: run, Episodes: episodes})
	if err == nil {
		err = a.attend(ctx, t, w, func(v *viewer) { v.progress(ctx, t, run+": contestants", run+"/reproduce/eval") })
	}
	if err != nil {
		return fault.New(fault.Transient, "reproduction of %s: %w", run, err)
	}
	return nil
}

// awaited is what ends some time: a workflow.
type awaited interface {
	GetID() string
	Get(ctx context.Context, out any) error
}

// attend waits for a workflow and looks at it from time to time.
func (a *app) attend(ctx context.Context, t client.Client, w awaited, look func(*viewer)) error {
	v := a.viewer(w.GetID())
	end := make(chan error, 1)
	go func() { end <- w.Get(ctx, nil) }()
	for {
		select {
		case err := <-end:
			v.clear()
			return err
		case <-time.After(time.Second):
			look(v)
		}
	}
}

// rates of one seed, by "system/split".
type rates map[string]float64

func readRates(ctx context.Context, b store.Bucket, s spec.Spec) (rates, error) {
	out := rates{}
	for _, x := range compared(s) {
		for _, name := range []string{x.this, x.that} {
			r, _, err := runs.Run(s.Name).Result(rules.EvalID(rules.ReproduceFolder, name, x.split)).Read(ctx, b)
			if err != nil {
				return out, err
			}
			out[name+"/"+x.split] = r.Rate
		}
	}
	return out, nil
}

// claim is a mean difference over seeds with its t-interval, in points.
type claim struct {
	Name    string  `json:"name"`
	Mean    float64 `json:"mean"`
	Low     float64 `json:"low"`
	High    float64 `json:"high"`
	Needs   string  `json:"needs,omitempty"`
	Claimed bool    `json:"claimed"`
	Holds   bool    `json:"holds"`
}

// comparison of two systems on a split; without holds nothing is claimed.
type comparison struct {
	this, that, split, needs string
	holds                    func(c claim) bool
}

// compared are the claims of the quickstart, and what stands beside them.
func compared(s spec.Spec) []comparison {
	base, trained, imitation, alone, votes := key("base", s), key("trained", s), key(rules.NameImitation, s), rules.NameAlone, rules.NameVotes
	seeds, held := domain.SplitTestSeeds, domain.SplitTestTemplates
	return []comparison{
		{trained, base, seeds, "at least 3 points, lower bound above 0", func(c claim) bool { return c.Mean >= 3 && c.Low > 0 }},
		{alone, "base-1", seeds, "lower bound above 0 (training without voting)", func(c claim) bool { return c.Low > 0 }},
		{trained, "base-1", seeds, "at least 10 points", func(c claim) bool { return c.Mean >= 10 }},
		{trained, base, held, "lower bound above −3", func(c claim) bool { return c.Low > -3 }},
		{trained, imitation, seeds, "", nil}, {trained, imitation, held, "", nil}, {imitation, base, seeds, "", nil},
		{votes, "base-1", seeds, "", nil}, {base, "base-1", seeds, "", nil}, {trained, alone, seeds, "", nil}, {trained, "base-1", held, "", nil},
	}
}

// judge tests the claims.
func judge(rows []rates, s spec.Spec) []claim {
	var out []claim
	for _, x := range compared(s) {
		var d []float64
		for _, r := range rows {
			d = append(d, 100*(r[x.this+"/"+x.split]-r[x.that+"/"+x.split]))
		}
		c := claim{Name: fmt.Sprintf("%s − %s on %s", x.this, x.that, x.split), Needs: x.needs, Claimed: x.holds != nil}
		c.Mean, c.Low, c.High = tInterval(d)
		c.Holds = x.holds == nil || x.holds(c)
		out = append(out, c)
	}
	return out
}

// t975 are the 97.5 % points of Student's t for 1 to 30 degrees of freedom; the normal point stands for more.
var t975 = []float64{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060,
	2.056, 2.052, 2.048, 2.045, 2.042}

// tInterval gives the mean of at least two values and its interval at 95 %.
func tInterval(x []float64) (mean, low, high float64) {
	n := float64(len(x))
	for _, v := range x {
		mean += v / n
	}
	ss := 0.0
	for _, v := range x {
		ss += (v - mean) * (v - mean)
	}
	t := 1.96
	if df := len(x) - 1; df <= len(t975) {
		t = t975[df-1]
	}
	half := t * math.Sqrt(ss/(n-1)) / math.Sqrt(n)
	return mean, mean - half, mean + half
}

// decodings states how the systems decode.
func decodings(s spec.Spec) string {
	return fmt.Sprintf("n=%d m=%d temperatures %v top_p %v; base-1 and %s: the better of greedy and temperature 0.2 on val, one round", s.Agents, s.Rounds, s.EvaluationTemperatures(), s.Decoding.TopP, rules.NameAlone)
}

func printClaims(w io.Writer, claims []claim, s spec.Spec, seeds, episodes int) {
	_, _ = fmt.Fprintf(w, "\n%d seeds, %d paired episodes per system, split and seed; differences in points, t-intervals over seeds at 95 %%\ncritic: %s · decoding: %s\n\n", seeds, episodes, rules.CriticName(s, catalog.All{}), decodings(s))
	for _, c := range claims {
		_, _ = fmt.Fprintf(w, "%-44s %+6.1f  [%+.1f, %+.1f]  %s\n", c.Name, c.Mean, c.Low, c.High, c.verdict())
	}
}

// verdict is what a claim needs and whether it has it; empty where nothing is claimed.
func (c claim) verdict() string {
	switch {
	case !c.Claimed:
		return ""
	case c.Holds:
		return "holds: " + c.Needs
	}
	return "FAILS: " + c.Needs
}
