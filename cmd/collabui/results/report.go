package results

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/cmd/collabui/terminal"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/records/experiments"
	"github.com/collabui/collabui/internal/records/lines"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/view"
)

func reportCmd(a *app.App) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "report [RUN|EXPERIMENT|LINE]... --out DIR",
		Short: "Write pages about runs, experiments and lines that open without a server",
		Long: `report writes a folder: open index.html in it with a browser. It has the curves, results, updates, data
cards, costs and graphs of a run, and every episode with its screens, answers, votes, labels and pairs; evaluations to
compare; the tables of an experiment with the pages of its runs; the entries of a line. Nothing is loaded from
elsewhere, so it can be sent, kept and printed.

It reads the objects of a data folder whether its services run or not.`,
		Example: "  collabui report quickstart --out report\n" +
			"  collabui report ablations ablations-full-s1 --out ablations",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runReport(cmd.Context(), a, out, args) },
	}
	cmd.Flags().StringVar(&out, "out", "", "`FOLDER` to write; it must not exist")

	return cmd
}

func runReport(ctx context.Context, a *app.App, out string, args []string) error {
	if out == "" {
		return fault.New(fault.Invalid, "--out is required: the folder to write, such as --out report")
	}
	l, _, err := library(a)
	if err != nil {
		return err
	}
	c, err := contents(ctx, l.Bucket, args)
	if err != nil {
		return err
	}
	bar := a.NewBar("report")
	documents := 0
	shown := time.Now()
	err = l.Report(ctx, out, c, func(done string) {
		documents++
		if time.Since(shown) > time.Second {
			shown = time.Now()
			bar.Show("%s, %s", terminal.Count(documents, "document"), done)
		}
	})
	bar.Clear()
	if err != nil {
		return err
	}

	return a.Print(map[string]any{"out": out, "documents": documents}, func(w io.Writer) {
		terminal.Line(w, "%s has %s: open %s/index.html in a browser", out, terminal.Count(documents, "document"), out)
	})
}

// contents sorts names into runs, experiments and lines. One name may be several of these.
func contents(ctx context.Context, bucket store.Bucket, names []string) (c view.Contents, err error) {
	for _, name := range names {
		run, err := runs.Run(name).Spec().Exists(ctx, bucket)
		if err != nil {
			return c, err
		}
		experiment, err := experiments.Experiment(name).Version(1).Exists(ctx, bucket)
		if err != nil {
			return c, err
		}
		line, err := lines.Line(name).Entry(1).Exists(ctx, bucket)
		if err != nil {
			return c, err
		}
		for _, x := range []struct {
			is  bool
			all *[]string
		}{{run, &c.Runs}, {experiment, &c.Experiments}, {line, &c.Lines}} {
			if x.is {
				*x.all = append(*x.all, name)
			}
		}
		if !run && !experiment && !line {
			return c, fmt.Errorf("%q is neither a run nor an experiment nor a line of this store (`collabui runs` "+
				"lists the runs): %w", name, store.ErrNotFound)
		}
	}

	return c, nil
}
