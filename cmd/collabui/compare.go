package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/internal/experiment/compare"
	"github.com/collabui/collabui/internal/experiment/plot"
	"github.com/collabui/collabui/internal/store/runs"
)

func compareCmd(a *app) *cobra.Command {
	var curve string
	c := &cobra.Command{
		Use:   "compare RUN RUN…",
		Short: "Compare runs: specifications, curves, results, and differences on the same episodes",
		Long: `compare shows in what the specifications of runs differ from that of the first, val by epoch, all
results, and how the trained systems did on the same episodes: the best system on val of a run that has ended,
otherwise the newest. Intervals are at 95 %, by Student's t over episodes of one run; they say nothing about other
seeds.`,
		Example: "  collabui compare quickstart softer\n  collabui compare a b c --curve val.svg --json",
		Args:    cobra.MinimumNArgs(2),
		RunE:    func(c *cobra.Command, args []string) error { return a.runCompare(c.Context(), curve, args) },
	}
	c.Flags().StringVar(&curve, "curve", "", "also draw success on val by epoch into `FILE`, an SVG picture")

	return c
}

// compared is the answer of compare.
type compared struct {
	Runs []comparedRun `json:"runs"`
	// Paired holds the differences of every run from the first.
	Paired []compare.Difference `json:"paired"`
}

// comparedRun is one of the runs that are compared.
type comparedRun struct {
	compare.Subject
	Status  state                `json:"status"`
	Differs map[string][2]string `json:"differs,omitempty"` // values by key: of the first run, and of this one
	Curve   []runs.EvalPoint     `json:"curve"`
	Results []runs.Result        `json:"results"`
	Changes []runs.Change        `json:"changes,omitempty"`

	status status
}

func (a *app) runCompare(ctx context.Context, curve string, names []string) error {
	b, e, err := a.bucket()
	if err != nil {
		return err
	}
	x := compared{Paired: []compare.Difference{}}
	first, err := runs.Run(names[0]).Current(ctx, b)
	if err != nil {
		return err
	}
	var curves []plot.Curve
	for i, name := range names {
		subject, err := compare.Find(ctx, b, name)
		if err != nil {
			return err
		}
		st, err := readStatus(ctx, b, e, name)
		if err != nil {
			return err
		}
		x.Runs = append(x.Runs, comparedRun{
			Subject: subject, Status: st.Status, Curve: st.Curve, Results: st.Results, Changes: st.Changes, status: st,
		})
		curves = append(curves, plot.Curve{Name: name, Points: st.Curve, Episodes: st.val, Strong: i == 0})
		if i == 0 {
			continue
		}
		s, err := runs.Run(name).Current(ctx, b)
		if err != nil {
			return err
		}
		s.Name = first.Name
		x.Runs[i].Differs = differing(first, s)
		d, err := compare.Paired(ctx, b, x.Runs[0].Subject, subject)
		if err != nil {
			return err
		}
		x.Paired = append(x.Paired, d...)
	}
	if curve != "" {
		if err := writeCurves(curve, "success on val by epoch", curves...); err != nil {
			return err
		}
	}

	return a.print(x, x.text)
}

func (x compared) text(w io.Writer) {
	for _, r := range x.Runs {
		say(w, "%s: %s, system of epoch %d", r.Run, r.Status, r.Epoch)
		if r.Run == x.Runs[0].Run {
			continue
		}
		for _, key := range sortedKeys(r.Differs) {
			say(w, "  %s: %s instead of %s", key, r.Differs[key][1], r.Differs[key][0])
		}
		if len(r.Differs) == 0 {
			say(w, "  the same specification as %s", x.Runs[0].Run)
		}
	}
	for _, r := range x.Runs {
		say(w, "\n%s: val by epoch", r.Run)
		for _, p := range r.Curve {
			say(w, "  %3d %5.1f %%", p.At, 100*p.Rate)
		}
		r.status.changesText(w)
		if len(r.Results) > 0 {
			say(w, "")
			printResults(w, r.Results)
		}
	}

	if len(x.Paired) == 0 {
		say(w, "\nno system of another run was evaluated on the same episodes as that of %s", x.Runs[0].Run)
		return
	}
	say(w, "\nthe same episodes, against %s", x.Runs[0].Run)
	say(w, "%-16s %-24s %9s %9s %12s %12s %11s  %s", "run", "split", "episodes", "missing", "only first", "only this",
		"difference", "95 % interval")
	for _, d := range x.Paired {
		say(w, "%-16s %-24s %9d %9d %12d %12d %+11.1f  %+.1f to %+.1f", d.B.Run, d.Split, d.Episodes, d.Missing,
			d.OnlyA, d.OnlyB, 100*d.Mean, 100*d.Low, 100*d.High)
	}
}
