package results

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/cmd/collabui/status"
	"github.com/collabui/collabui/cmd/collabui/terminal"
	"github.com/collabui/collabui/internal/config"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

func runsCmd(a *app.App) *cobra.Command {
	var usage bool
	cmd := &cobra.Command{
		Use: "runs", SuggestFor: []string{"ls", "list", "ps"},
		Short: "List the runs in the store, with state, age and, with --usage, size and cost",
		Long: `runs lists the runs in the store, a line for each. With --usage it adds size and cost, for which it lists
all objects of the runs and reads their recorded calls. The size covers a run's own objects and the policies that it
made, which forks may share. The cost is what its recorded calls to chat endpoints took, at the prices of its
specification.`,
		Example: "  collabui runs --usage\n  collabui runs | grep team=web",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			bucket, endpoints, err := a.OpenObjects()
			if err != nil {
				return err
			}

			return listRuns(cmd.Context(), a, bucket, endpoints, usage)
		},
	}
	cmd.Flags().BoolVar(&usage, "usage", false, "add size and cost, which takes longer the more objects the runs have")

	return cmd
}

// runRow is what runs prints of a run: an object with --json, otherwise the line that text writes.
type runRow struct {
	status.Report
	Began  time.Time         `json:"began"`
	Bytes  int64             `json:"bytes,omitempty"` // with --usage
	Labels map[string]string `json:"labels,omitempty"`
}

// listRuns prints the runs.
func listRuns(ctx context.Context, a *app.App, bucket store.Keeper, endpoints config.Endpoints, usage bool) error {
	names, err := runs.Names(ctx, bucket)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		terminal.Line(a.Err, "note: there are no runs yet")
	}
	var sizes map[string]int64
	if usage {
		if sizes, err = blobSizes(ctx, bucket); err != nil {
			return err
		}
	}
	live := status.TemporalReader{Ends: endpoints}
	defer live.Close()
	read := func(ctx context.Context, i int) (*runRow, error) {
		row, err := readRow(ctx, bucket, &live, names[i])
		if errors.Is(err, store.ErrNotFound) { // someone has deleted it meanwhile
			return nil, nil
		}
		if err == nil && usage {
			err = row.readUsage(ctx, bucket, sizes)
		}

		return &row, err
	}

	heading := a.JSON // as if it were printed
	unknown := 0
	err = store.InOrder(ctx, len(names), read, func(_ int, x *runRow) error {
		if x == nil {
			return nil
		}
		if !heading {
			printHeading(a.Out, usage)
			heading = true
		}
		if x.IsUnknown() {
			unknown++
		}

		return a.Print(x, x.text)
	})
	if err == nil && unknown > 0 && endpoints.Temporal == "" {
		terminal.Line(a.Err, "note: no services run, so the state of %s is unknown: %s starts them, and what was "+
			"open continues", terminal.Count(unknown, "run"), a.Typed("up"))
	}

	return err
}

// blobSizes returns the sizes of all blobs by their digests.
func blobSizes(ctx context.Context, bucket store.Bucket) (map[string]int64, error) {
	blobs, err := bucket.List(ctx, store.BlobPrefix)
	sizes := make(map[string]int64, len(blobs))
	for _, ref := range blobs {
		sizes[strings.TrimPrefix(ref.Key, store.BlobPrefix)] = ref.Size
	}

	return sizes, err
}

// readRow reads what is known about a run without a list of its objects.
func readRow(
	ctx context.Context, bucket store.Keeper, live *status.TemporalReader, name string,
) (row runRow, err error) {
	if row.Report, err = status.ReadStored(ctx, bucket, name); err != nil {
		return row, err
	}
	live.Read(ctx, &row.Report)
	row.Labels = row.Spec.Labels
	key := runs.Run(name).Spec().Key
	objects, err := bucket.Ages(ctx, key)
	for _, aged := range objects {
		if aged.Key == key {
			row.Began = aged.Written.UTC()
		}
	}

	return row, err
}

// readUsage adds the size of a run and what its calls cost.
func (x *runRow) readUsage(ctx context.Context, bucket store.Keeper, sizes map[string]int64) error {
	if err := x.ReadSpent(ctx, bucket); err != nil {
		return err
	}
	run := runs.Run(x.Name)
	objects, err := bucket.List(ctx, run.Prefix())
	if err != nil {
		return err
	}
	for _, ref := range objects {
		x.Bytes += ref.Size
	}
	for digest := range x.Made {
		x.Bytes += sizes[digest]
	}

	return nil
}

// printHeading prints the heading of the columns that text writes.
func printHeading(out io.Writer, usage bool) {
	more := ""
	if usage {
		more = fmt.Sprintf("  %10s  %10s", "size", "calls cost")
	}
	terminal.Line(out, rowFormat, "run", "state", "stage", "epochs", "began (UTC)", more+"  labels")
}

// rowFormat is the format of a line of runs.
const rowFormat = "%-24s %-10s %-12s %7s  %-19s%s"

func (x runRow) text(out io.Writer) {
	more := ""
	if x.Bytes > 0 {
		cost := "–"
		if x.Spent != nil {
			cost = fmt.Sprintf("%.2f", x.Spent.Money)
		}
		more = fmt.Sprintf("  %10s  %10s", terminal.Megabytes(x.Bytes), cost)
	}
	for _, key := range slices.Sorted(maps.Keys(x.Labels)) {
		more += "  " + key + "=" + x.Labels[key]
	}
	terminal.Line(out, rowFormat, x.Name, x.Status, x.Stage, fmt.Sprintf("%d/%d", x.Epoch, x.Epochs),
		x.Began.Format(time.DateTime), more)
}
