package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/process/config"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
)

// runsOptions are the flags of runs.
type runsOptions struct {
	states []string
	like   string
	labels []string
	older  time.Duration
	usage  bool
}

func runsCmd(a *app) *cobra.Command {
	var o runsOptions
	c := &cobra.Command{
		Use:   "runs",
		Short: "List the runs in the store, with state, age and, with --usage, size and cost",
		Long: `runs lists the runs in the store. With --usage it adds size and cost, for which it lists all objects of
the runs and reads their recorded calls. The size covers a run's own objects and the policies that it made, which
forks may share. The cost is what its recorded calls to chat endpoints took, at the prices of its specification.`,
		Example: "  collabui runs --state paused,stopped\n" +
			"  collabui runs --like 'mobile-*' --older 720h --label team=web --usage",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.runRuns(c.Context(), o) },
	}
	f := c.Flags()
	f.StringSliceVar(&o.states, "state", nil, "only runs in these `STATES`: running, paused, stopped, finished, …")
	f.StringVar(&o.like, "like", "", "only runs whose names match a `PATTERN` such as mobile-*")
	f.StringSliceVar(&o.labels, "label", nil, "only runs with this label, as `KEY=VALUE`; may be repeated")
	f.DurationVar(&o.older, "older", 0, "only runs that began longer ago, such as 720h")
	f.BoolVar(&o.usage, "usage", false, "add size and cost, which takes longer the more objects the runs have")

	return c
}

// runRow is a run as runs prints it.
type runRow struct {
	status
	Began  time.Time         `json:"began"`
	Bytes  int64             `json:"bytes,omitempty"` // with --usage
	Labels map[string]string `json:"labels,omitempty"`
}

func (a *app) runRuns(ctx context.Context, o runsOptions) error {
	b, e, err := a.bucket()
	if err != nil {
		return err
	}

	return a.listRuns(ctx, b, e, o)
}

// listRuns prints the runs that match.
func (a *app) listRuns(ctx context.Context, b store.Keeper, e config.Endpoints, o runsOptions) error {
	names, err := o.names(ctx, b)
	if err != nil {
		return err
	}
	var sizes map[string]int64
	if o.usage {
		if sizes, err = blobSizes(ctx, b); err != nil {
			return err
		}
	}
	live := liveReader{ends: e}
	defer live.Close()
	read := func(ctx context.Context, i int) (*runRow, error) {
		x, err := readRow(ctx, b, &live, names[i])
		if errors.Is(err, store.ErrNotFound) { // somebody has just deleted it
			return nil, nil
		}
		if err != nil || !o.wants(x) {
			return nil, err
		}
		if o.usage {
			err = x.readUsage(ctx, b, sizes)
		}

		return &x, err
	}

	return store.InOrder(ctx, len(names), read, func(_ int, x *runRow) error {
		if x == nil {
			return nil
		}

		return a.print(x, x.text)
	})
}

// names returns the names of the runs that match.
func (o runsOptions) names(ctx context.Context, b store.Bucket) ([]string, error) {
	for _, l := range o.labels {
		if !strings.Contains(l, "=") {
			return nil, fault.New(fault.Invalid, "--label: expected KEY=VALUE, not %q", l)
		}
	}
	if _, err := path.Match(o.like, ""); err != nil {
		return nil, fault.New(fault.Invalid, "--like: expected a pattern such as mobile-*, not %q", o.like)
	}
	names, err := runs.Names(ctx, b)

	return slices.DeleteFunc(names, func(name string) bool {
		ok, _ := path.Match(o.like, name)

		return o.like != "" && !ok
	}), err
}

// wants reports whether a run matches.
func (o runsOptions) wants(x runRow) bool {
	if len(o.states) > 0 && !slices.Contains(o.states, string(x.Status)) {
		return false
	}
	for _, l := range o.labels {
		key, value, _ := strings.Cut(l, "=")
		if has, ok := x.Labels[key]; !ok || has != value {
			return false
		}
	}

	return o.older == 0 || time.Since(x.Began) > o.older
}

// blobSizes returns the sizes of all blobs by their digests.
func blobSizes(ctx context.Context, b store.Bucket) (map[string]int64, error) {
	blobs, err := b.List(ctx, store.BlobPrefix)
	sizes := make(map[string]int64, len(blobs))
	for _, o := range blobs {
		sizes[strings.TrimPrefix(o.Key, store.BlobPrefix)] = o.Size
	}

	return sizes, err
}

// readRow reads what is known of a run without a list of its objects.
func readRow(ctx context.Context, b store.Keeper, live *liveReader, name string) (x runRow, err error) {
	if x.status, err = readStored(ctx, b, name); err != nil {
		return x, err
	}
	live.read(ctx, &x.status)
	x.Labels = x.spec.Labels
	key := runs.Run(name).Spec().Key
	objects, err := b.Ages(ctx, key)
	for _, o := range objects {
		if o.Key == key {
			x.Began = o.Written.UTC()
		}
	}

	return x, err
}

// readUsage adds the size of a run and what its calls cost.
func (x *runRow) readUsage(ctx context.Context, b store.Keeper, sizes map[string]int64) error {
	if err := x.readSpent(ctx, b); err != nil {
		return err
	}
	run := runs.Run(x.Name)
	objects, err := b.List(ctx, run.Prefix())
	if err != nil {
		return err
	}
	for _, o := range objects {
		x.Bytes += o.Size
	}
	for digest := range x.made {
		x.Bytes += sizes[digest]
	}

	return nil
}

func (x runRow) text(w io.Writer) {
	more := ""
	if x.Bytes > 0 {
		more = fmt.Sprintf("  %10s", megabytes(x.Bytes))
	}
	if x.Spent != nil {
		more += fmt.Sprintf("  cost %.2f", x.Spent.Money)
	}
	for _, key := range sortedKeys(x.Labels) {
		more += "  " + key + "=" + x.Labels[key]
	}
	say(w, "%-24s %-10s %-12s %d/%d epochs  %s%s",
		x.Name, x.Status, x.Stage, x.Epoch, x.Epochs, x.Began.Format(time.DateTime), more)
}
