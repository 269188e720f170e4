package operate

import (
	"context"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/cmd/collabui/terminal"
	"github.com/collabui/collabui/internal/care/verify"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

func fsckCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "fsck [RUN]",
		Short: "Verify every object of the store, or of one run, and what every run promises",
		Long: `fsck reads only the store; the store of a data folder is read from its files. It verifies the hash of
every object and every reference. For each run it verifies that every slot is committed once or recorded as failed,
that no update is applied twice, that every pair traces to a labelled cell, a topology and a system version, and that
digests follow from the data.

With RUN it reads only the objects of that run and those that they reference. Only without RUN does it look for objects
that nothing references.`,
		Example: "  collabui fsck --json\n  collabui fsck quickstart",
		Args:    cobra.MaximumNArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return runFsck(cmd.Context(), a, args) },
	}
}

// fsckGC makes the garbage collector run less often: little of what fsck reads stays in memory.
const fsckGC = 400

func runFsck(ctx context.Context, a *app.App, names []string) error {
	bucket, _, err := a.OpenObjects()
	if err != nil {
		return err
	}
	debug.SetGCPercent(fsckGC)
	report, names, err := verifyObjects(ctx, bucket, names)
	if err != nil {
		return err
	}
	for _, name := range names {
		problems, err := verify.Run(ctx, bucket, name)
		report.Problems = append(report.Problems, problems...)
		if err != nil && len(report.Problems) == 0 { // otherwise a problem explains it
			return err
		}
	}

	if err := a.Print(report, func(out io.Writer) { printReport(out, report, len(names)) }); err != nil {
		return err
	}
	if n := len(report.Problems); n > 0 {
		return fmt.Errorf("%w: %s", app.ErrFailed, terminal.Count(n, "problem"))
	}

	return nil
}

// verifyObjects verifies the objects of the named runs, or of the whole store, and returns the names of the runs.
func verifyObjects(ctx context.Context, bucket store.Bucket, names []string) (verify.Report, []string, error) {
	if len(names) == 1 {
		report, err := verify.FsckRun(ctx, bucket, names[0])
		return report, names, err
	}
	report, err := verify.Fsck(ctx, bucket)
	if err != nil {
		return report, nil, err
	}
	names, err = runs.Names(ctx, bucket)

	return report, names, err
}

// maxUnreferenced is the number of unreferenced objects that are printed: a run that is open has many.
const maxUnreferenced = 10

func printReport(out io.Writer, report verify.Report, names int) {
	terminal.Line(out, "%s, %s, %s; %d unreferenced; %s",
		terminal.Count(report.Objects, "object"), terminal.Megabytes(report.Bytes), terminal.Count(names, "run"),
		len(report.Unreferenced), terminal.Count(len(report.Problems), "problem"))
	for _, problem := range report.Problems {
		terminal.Line(out, "PROBLEM %s", problem)
	}
	if len(report.Missing) > 0 {
		terminal.Line(out,
			"missing: %s. `collabui delete --undo --missing` looks in the trash and in the versions of the bucket; "+
				"`collabui copy FROM store` takes them from a copy", terminal.Count(len(report.Missing), "object"))
	}
	isBlob := func(key string) bool { return strings.HasPrefix(key, store.BlobPrefix) }
	if slices.ContainsFunc(report.Unreferenced, isBlob) {
		terminal.Line(out,
			"unreferenced blobs do no harm: attempts that were cut short left them; collabui gc removes them")
	}
	if slices.ContainsFunc(report.Unreferenced, func(key string) bool { return !isBlob(key) }) {
		terminal.Line(out,
			"unreferenced records do no harm: if their epoch is not committed yet, its run uses them when it "+
				"continues; others are of attempts that were cut short, and stay until the run is deleted")
	}
	for _, key := range report.Unreferenced[:min(maxUnreferenced, len(report.Unreferenced))] {
		terminal.Line(out, "unreferenced %s", key)
	}
	if more := len(report.Unreferenced) - maxUnreferenced; more > 0 {
		terminal.Line(out, "… and %d more; --json lists all", more)
	}
}
