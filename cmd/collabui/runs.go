package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/internal/store/runs"
)

func runsCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "runs",
		Short:   "List the runs in the store",
		Example: "  collabui runs --json",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return a.runRuns(c.Context()) },
	}
}

func (a *app) runRuns(ctx context.Context) error {
	b, e, err := a.bucket()
	if err != nil {
		return err
	}
	names, err := runs.Names(ctx, b)
	if err != nil {
		return err
	}
	for _, name := range names {
		st, err := readStatus(ctx, b, e, name)
		if err != nil {
			return err
		}
		err = a.print(st, func(w io.Writer) {
			say(w, "%-24s %-10s %-12s epoch %d/%d", st.Name, st.Status, st.Stage, st.Epoch, st.Epochs)
		})
		if err != nil {
			return err
		}
	}

	return nil
}
