package operate

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/cmd/collabui/terminal"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/lines"
)

func lineCmd(a *app.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "line",
		Short: "Show and change which systems are accepted for use",
		Long: `A line, such as mobile, is a succession of accepted systems. infer --line and export --line follow it.
Every promotion, rejection and rollback is an entry with who, when and why, and none is ever changed. Two people who
decide at once do not overrule each other: the second is told what the first did.`,
		Example: "  collabui line promote mobile quickstart --why 'first one'\n  collabui line show mobile",
	}
	c.AddCommand(lineShowCmd(a), linePromoteCmd(a), lineRollbackCmd(a))

	return c
}

func lineShowCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use: "show [LINE]", Short: "Show the accepted systems of all lines, or all entries of one",
		Args: cobra.MaximumNArgs(1), Example: "  collabui line show\n  collabui line show mobile --json",
		RunE: func(c *cobra.Command, args []string) error { return runLineShow(c.Context(), a, args) },
	}
}

// runLineShow prints, for every line, the entry that accepts the current system, or all entries of one line.
func runLineShow(ctx context.Context, a *app.App, of []string) error {
	b, _, err := a.OpenStore()
	if err != nil {
		return err
	}
	var shown []lineEntry
	if len(of) > 0 {
		all, err := lines.Line(of[0]).History(ctx, b, 0)
		if err == nil && len(all) == 0 {
			err = fmt.Errorf("line %q: %w", of[0], store.ErrNotFound)
		}
		if err != nil {
			return err
		}
		for _, e := range all {
			shown = append(shown, lineEntry{of[0], e})
		}
	} else {
		names, err := lines.Names(ctx, b)
		if err != nil {
			return err
		}
		for _, name := range names {
			e, err := lines.Line(name).Current(ctx, b)
			if err != nil {
				return err
			}
			shown = append(shown, lineEntry{name, e})
		}
	}
	for _, e := range shown {
		if err := a.Print(e, e.text); err != nil {
			return err
		}
	}

	return nil
}

// lineEntry is an entry as commands print it.
type lineEntry struct {
	Line string `json:"line"`
	lines.Entry
}

func (e lineEntry) text(w io.Writer) {
	terminal.Line(w, "%-16s %3d %-9s %-24s %s %s: %s",
		e.Line, e.Number, e.Verb, e.System, e.At.Format(time.DateTime), e.Who, e.Why)
	for _, r := range e.Results {
		terminal.Line(w, "  %-15s %5.1f %% of %d", r.Split, 100*r.Rate, r.Episodes)
	}
}

func linePromoteCmd(a *app.App) *cobra.Command {
	var why string
	c := &cobra.Command{
		Use:   "promote LINE RUN[@EPOCH]",
		Short: "Accept a system; a line begins with its first one",
		Long: `promote makes a system the accepted one of a line: of an epoch, or the best on val of a run that has
ended, otherwise the newest. 0 is the base policy.`,
		Example: "  collabui line promote mobile quickstart@3 --why 'better on test-apps'",
		Args:    cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			accept := func(ctx context.Context, b store.Bucket) (lines.Entry, int, error) {
				return promotion(ctx, b, args[0], args[1])
			}

			return addEntry(c.Context(), a, args[0], why, accept)
		},
	}
	app.AddRequiredWhy(c, &why)

	return c
}

// promotion returns the entry that accepts a system, and the number of entries in the line.
func promotion(ctx context.Context, b store.Bucket, line, system string) (e lines.Entry, after int, err error) {
	run, epoch, err := systemArg(system)
	if err != nil {
		return e, 0, err
	}
	all, err := lines.Line(line).History(ctx, b, 0)
	if err != nil {
		return e, 0, err
	}
	e.Verb = lines.Promote
	if e.System, err = lines.Find(ctx, b, run, epoch); err == nil {
		err = e.Measured(ctx, b)
	}

	return e, len(all), err
}

func lineRollbackCmd(a *app.App) *cobra.Command {
	var why string
	var to int
	c := &cobra.Command{
		Use:     "rollback LINE",
		Short:   "Accept the system again that was accepted before, or that of --to",
		Example: "  collabui line rollback mobile --why 'it closes dialogs'",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			back := func(ctx context.Context, b store.Bucket) (lines.Entry, int, error) {
				return lines.Line(args[0]).Back(ctx, b, to)
			}

			return addEntry(c.Context(), a, args[0], why, back)
		},
	}
	app.AddRequiredWhy(c, &why)
	c.Flags().IntVar(&to, "to", 0, "`NUMBER` of the entry whose system is accepted again")

	return c
}

// addEntry writes the next entry of a line. decide returns it together with the number of entries that it has seen.
func addEntry(
	ctx context.Context, a *app.App, line, why string, decide func(context.Context, store.Bucket) (lines.Entry, int, error),
) error {
	b, _, err := a.OpenStore()
	if err != nil {
		return err
	}
	e, after, err := decide(ctx, b)
	if err != nil {
		return err
	}
	e.Who, e.Why, e.At = app.UserName(), why, time.Now().UTC()
	if e, err = lines.Line(line).Append(ctx, b, after, e); err != nil {
		return err
	}

	return a.Print(lineEntry{line, e}, lineEntry{line, e}.text)
}

// systemArg reads RUN or RUN@EPOCH. Without an epoch it returns −1.
func systemArg(arg string) (run string, epoch int, err error) {
	run, number, given := strings.Cut(arg, "@")
	if !given {
		return run, -1, nil
	}
	epoch, bad := strconv.Atoi(number)
	if bad != nil || epoch < 0 {
		return run, 0, fault.New(fault.Invalid, "%q: expected RUN or RUN@EPOCH, such as quickstart@3", arg)
	}

	return run, epoch, nil
}
