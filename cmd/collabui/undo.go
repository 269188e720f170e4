package main

import (
	"context"
	"io"
	"time"

	"github.com/collabui/collabui/internal/care/collect"
	"github.com/collabui/collabui/internal/care/verify"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// runUndo takes back a deleted run, or what a run or the store lacks.
func (a *app) runUndo(ctx context.Context, run string, missing bool) error {
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
			say(w, "%d objects are nowhere in this store: take them from a copy with %s", len(recovery.Missing),
				a.typed("copy FROM store"))
		}
	})
}

// takeBack takes back a deleted run, or what a run or the store lacks.
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
