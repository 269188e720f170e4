package main

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/collect"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/internal/store/verify"
)

func undeleteCmd(a *app) *cobra.Command {
	var missing bool
	c := &cobra.Command{
		Use:   "undelete [RUN]",
		Short: "Take back a deleted run, or what fsck misses",
		Long: `undelete takes a deleted run back, with everything that it refers to: from the trash, where objects are
until gc has run twice more after it removed them, and from the versions of the bucket, if it keeps them. It refuses a
run whose name another run has by now.

With --missing it takes back what a run that exists lacks, or, without RUN, everything that fsck misses in the store.
It reports what neither the trash nor the bucket has any more: see copy. It may be repeated.`,
		Example: "  collabui undelete try-7\n  collabui undelete --missing quickstart\n  collabui undelete --missing",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.runUndelete(c.Context(), append(args, "")[0], missing)
		},
	}
	c.Flags().BoolVar(&missing, "missing", false, "take back what RUN lacks, or what fsck misses in the whole store")

	return c
}

func (a *app) runUndelete(ctx context.Context, run string, missing bool) error {
	if run == "" && !missing {
		return fault.New(fault.Invalid, "name a RUN that was deleted, or use --missing")
	}
	b, _, err := a.bucket()
	if err != nil {
		return err
	}
	recovery, err := takeBack(ctx, b, runs.Run(run), missing)
	if err != nil {
		return err
	}

	return a.print(recovery, func(w io.Writer) {
		line := func(t collect.Tally, from string) {
			say(w, "%8d objects, %10s taken back from %s", t.Objects, megabytes(t.Bytes), from)
		}
		line(recovery.Trash, "the trash")
		line(recovery.Versions, "the versions of the bucket")
		for _, key := range recovery.Missing {
			say(w, "MISSING %s", key)
		}
		if len(recovery.Missing) > 0 {
			say(w, "%d objects are nowhere in this store: copy them from a backup with %s", len(recovery.Missing),
				a.typed("copy PLACE store"))
		}
	})
}

// takeBack takes back a deleted run, or what is missing of a run or of the store.
func takeBack(ctx context.Context, b store.Keeper, run runs.Run, missing bool) (collect.Recovery, error) {
	if !missing {
		return collect.Undelete(ctx, b, run, runs.Decision{
			Who: userName(), Why: "it is being taken back", At: time.Now().UTC(),
		})
	}
	if run != "" {
		if _, err := run.Find(ctx, b); err != nil {
			return collect.Recovery{}, err
		}

		return collect.Recover(ctx, b, userName(), run, nil)
	}
	report, err := verify.Fsck(ctx, b)
	if err != nil {
		return collect.Recovery{}, err
	}

	return collect.Recover(ctx, b, userName(), "", report.Missing)
}
