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
	"github.com/collabui/collabui/internal/records/lines"
	"github.com/collabui/collabui/internal/store"
)

func lineCmd(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "line",
		Short: "Show and change which systems are accepted for use",
		Long: `A line, such as mobile, is a succession of accepted systems. infer --line and export --line follow it.
Every promotion, rejection and rollback is an entry with who, when and why, and none is ever changed. Two people who
decide at once do not overrule each other: the second is told what the first did.`,
		Example: "  collabui line promote mobile quickstart --why 'first one'\n  collabui line show mobile",
	}
	cmd.AddCommand(lineShowCmd(a), linePromoteCmd(a), lineRollbackCmd(a))

	return cmd
}

func lineShowCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use: "show [LINE]", Short: "Show the accepted systems of all lines, or all entries of one",
		Args: cobra.MaximumNArgs(1), Example: "  collabui line show\n  collabui line show mobile --json",
		RunE: func(cmd *cobra.Command, args []string) error { return runLineShow(cmd.Context(), a, args) },
	}
}

// runLineShow prints, for every line, the entry that accepts the current system, or all entries of one line.
func runLineShow(ctx context.Context, a *app.App, of []string) error {
	bucket, _, err := a.OpenObjects()
	if err != nil {
		return err
	}
	var shown []lineEntry
	if len(of) > 0 {
		all, err := lines.Line(of[0]).History(ctx, bucket, 0)
		if err == nil && len(all) == 0 {
			err = fmt.Errorf("line %q: %w", of[0], store.ErrNotFound)
		}
		if err != nil {
			return err
		}
		for _, entry := range all {
			shown = append(shown, lineEntry{of[0], entry})
		}
	} else {
		names, err := lines.Names(ctx, bucket)
		if err != nil {
			return err
		}
		if len(names) == 0 {
			terminal.Line(a.Err, "note: there are no lines yet")
		}
		for _, name := range names {
			entry, err := lines.Line(name).Current(ctx, bucket)
			if err != nil {
				return err
			}
			shown = append(shown, lineEntry{name, entry})
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

func (e lineEntry) text(out io.Writer) {
	terminal.Line(out, "%-16s %3d %-9s %-24s %s %s: %s",
		e.Line, e.Number, e.Verb, e.System, e.At.Format(time.DateTime), e.Who, e.Why)
	for _, result := range e.Results {
		terminal.Line(out, "  %-15s %5.1f %% of %d", result.Split, 100*result.Rate, result.Episodes)
	}
}

func linePromoteCmd(a *app.App) *cobra.Command {
	var why string
	cmd := &cobra.Command{
		Use:   "promote LINE RUN[@EPOCH]",
		Short: "Accept a system; a line begins with its first one",
		Long: `promote makes a system the accepted one of a line: of an epoch, or the best on val of a run that has
ended, otherwise the newest. 0 is the base policy.`,
		Example: "  collabui line promote mobile quickstart@3 --why 'better on test-apps'",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			accept := func(ctx context.Context, bucket store.Bucket) (lines.Entry, int, error) {
				return promotion(ctx, bucket, args[0], args[1])
			}

			return addEntry(cmd.Context(), a, args[0], why, accept)
		},
	}
	app.AddRequiredWhy(cmd, &why)

	return cmd
}

// promotion returns the entry that accepts a system, and the number of entries in the line.
func promotion(
	ctx context.Context, bucket store.Bucket, line, system string,
) (entry lines.Entry, after int, err error) {
	run, epoch, err := systemArg(system)
	if err != nil {
		return entry, 0, err
	}
	all, err := lines.Line(line).History(ctx, bucket, 0)
	if err != nil {
		return entry, 0, err
	}
	entry.Verb = lines.Promote
	if entry.System, err = lines.Find(ctx, bucket, run, epoch); err == nil {
		err = entry.Measured(ctx, bucket)
	}

	return entry, len(all), err
}

func lineRollbackCmd(a *app.App) *cobra.Command {
	var why string
	var to int
	cmd := &cobra.Command{
		Use:     "rollback LINE",
		Short:   "Accept the system again that was accepted before, or that of --to",
		Example: "  collabui line rollback mobile --why 'it closes dialogs'",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			back := func(ctx context.Context, bucket store.Bucket) (lines.Entry, int, error) {
				return lines.Line(args[0]).Back(ctx, bucket, to)
			}

			return addEntry(cmd.Context(), a, args[0], why, back)
		},
	}
	app.AddRequiredWhy(cmd, &why)
	cmd.Flags().IntVar(&to, "to", 0, "`NUMBER` of the entry whose system is accepted again")

	return cmd
}

// addEntry writes the next entry of a line. decide returns it together with the number of entries that it has seen.
func addEntry(
	ctx context.Context, a *app.App, line, why string, decide func(context.Context, store.Bucket) (lines.Entry, int,
		error),
) error {
	bucket, _, err := a.OpenStore()
	if err != nil {
		return err
	}
	entry, after, err := decide(ctx, bucket)
	if err != nil {
		return err
	}
	entry.Who = app.UserName()
	entry.Why = why
	entry.At = time.Now().UTC()
	if entry, err = lines.Line(line).Append(ctx, bucket, after, entry); err != nil {
		return err
	}

	return a.Print(lineEntry{line, entry}, lineEntry{line, entry}.text)
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
