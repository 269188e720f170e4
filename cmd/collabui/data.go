package main

import (
	"context"

	"github.com/spf13/cobra"
)

func dataCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "data RUN",
		Short:   "Show the data cards of stage 1: what was made, how much, by whom, and what was dropped and why",
		Example: "  collabui data curriculum",
		Args:    cobra.ExactArgs(1),
		RunE:    func(c *cobra.Command, args []string) error { return a.runData(c.Context(), args[0]) },
	}
}

func (a *app) runData(ctx context.Context, run string) error {
	b, _, err := a.bucket()
	if err != nil {
		return err
	}

	return a.showStage1(ctx, b, run)
}
