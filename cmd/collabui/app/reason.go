package app

import (
	"github.com/spf13/cobra"
)

// AddWhy adds an optional flag for a reason.
func AddWhy(cmd *cobra.Command, why *string) {
	cmd.Flags().StringVar(why, "why", "", "the reason, recorded with the run")
}

// AddRequiredWhy adds a required flag for a reason, because a line is shared by people.
func AddRequiredWhy(cmd *cobra.Command, why *string) {
	cmd.Flags().StringVar(why, "why", "", "the reason, which is recorded")
	_ = cmd.MarkFlagRequired("why") // the flag exists
}
