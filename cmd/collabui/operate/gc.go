package operate

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/cmd/collabui/terminal"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/care/collect"
	"github.com/collabui/collabui/internal/records/runs"
)

func gcCmd(a *app.App) *cobra.Command {
	var policy collect.Policy
	var days int
	var dry bool
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "Remove from the store what nothing needs",
		Long: `gc removes what belongs to deleted runs alone, blobs that nothing refers to, and checkpoints of training
that has ended. With --keep-epochs and --keep-calls it also removes old policies and recorded calls of runs that have
ended. What a line accepts, or accepted, is kept.

It may run beside runs, forks and copies: objects younger than --grace stay, and everything goes into a trash first,
from which delete --undo takes it back. It is gone when gc has run twice more, each time after another --grace. A copy
or a fork that was cut short is removed when a second gc, after --grace, finds it as the first one did. Cut short, gc is
repeated.

gc removes nothing if a LIST of the store does not show what is there, or if more would go than deletions, ended
training and retention explain: see --dry-run, and then --force.`,
		Example: "  collabui gc --dry-run\n  collabui gc --keep-epochs 3 --keep-calls 30",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runGC(cmd.Context(), a, policy, days, dry) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&dry, "dry-run", false, "only say what would be removed")
	flags.DurationVar(&policy.Grace, "grace", runs.Grace,
		"keep objects that are younger: longer than the longest step between writing a policy and recording it")
	flags.IntVar(&policy.Epochs, "keep-epochs", 0,
		"of runs that have ended, keep the policies of the best epoch and of the last `N`; 0 keeps all")
	flags.IntVar(&days, "keep-calls", 0, "of runs that have ended, keep recorded calls for `DAYS`; 0 keeps all")
	flags.BoolVar(&policy.Force, "force", false, "remove even unusually much that no deletion explains")

	return cmd
}

// runGC collects garbage, with recorded calls older than some days, or only reports what it would remove.
func runGC(ctx context.Context, a *app.App, policy collect.Policy, days int, dry bool) error {
	if policy.Grace < time.Minute || policy.Epochs < 0 || days < 0 {
		return fault.New(fault.Invalid, "expected a --grace of at least 1m, and --keep-epochs and --keep-calls from 0")
	}
	open := a.OpenStore
	if dry {
		open = a.OpenObjects
	}
	bucket, _, err := open()
	if err != nil {
		return err
	}
	policy.Who = app.UserName()
	policy.Calls = time.Duration(days) * 24 * time.Hour
	bar := a.NewBar("")
	report, err := collect.Collect(ctx, bucket, policy, dry, bar.Objects())
	bar.Clear()
	if err != nil {
		return err
	}

	return a.Print(report, func(out io.Writer) {
		would := ""
		if dry {
			would = "would be "
		}
		line := func(tally collect.Tally, what string) {
			terminal.Line(out, "%8d objects, %10s %s", tally.Objects, terminal.Megabytes(tally.Bytes), what)
		}
		line(collect.Tally{Objects: report.Objects, Bytes: report.Bytes}, "in the store before")
		line(report.Removed, would+"put into the trash: of deleted runs, checkpoints, recorded calls")
		line(report.Trashed, would+"put into the trash: blobs that nothing refers to")
		line(report.Freed, would+"removed from the trash for good")
		line(report.Restored, would+"brought back from the trash")
		if report.Uploads > 0 {
			terminal.Line(out, "%8d uploads that were cut short %saborted", report.Uploads, would)
		}
		if report.Unexplained > 0 {
			terminal.Line(out,
				"%d of these blobs were not named by anything that %sremoved: imports that were not used, or a "+
					"store that does not show everything", report.Unexplained, would)
		}
		if len(report.Runs) > 0 {
			terminal.Line(out, "nothing is left of %s", strings.Join(report.Runs, ", "))
		}
		for _, waiting := range report.Waiting {
			terminal.Line(out, "%8d objects of the deleted run %s stay: gc removes them after %s UTC", waiting.Objects,
				waiting.Run, waiting.After.Format(time.DateTime))
		}
		if len(report.Needed) > 0 {
			terminal.Line(out, "deleted runs stay of which something else needs a part: %s",
				strings.Join(report.Needed, ", "))
		}
		if report.Young.Objects > 0 {
			line(report.Young, "stay: blobs that nothing refers to, younger than --grace")
		}
		if len(report.Unfinished) > 0 {
			terminal.Line(out, "never finished, and removed unless a copy or a fork continues: %s",
				strings.Join(report.Unfinished, ", "))
		}
	})
}
