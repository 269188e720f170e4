package app

import (
	"github.com/spf13/cobra"
)

func AddWhy(c *cobra.Command, why *string) {
	c.Flags().StringVar(why, "why", "", "the reason, recorded with the run")
}

// AddRequiredWhy adds a required flag for a reason, because a line is shared by people.
func AddRequiredWhy(c *cobra.Command, why *string) {
	c.Flags().StringVar(why, "why", "", "the reason, which is recorded")
	_ = c.MarkFlagRequired("why") // the flag exists
}
