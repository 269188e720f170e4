package main

import (
	"github.com/spf13/cobra"
)

func addWhy(c *cobra.Command, why *string) {
	c.Flags().StringVar(why, "why", "", "the reason, recorded with the run")
}

// addReason adds a required flag for a reason, because a line is shared by people.
func addReason(c *cobra.Command, why *string) {
	c.Flags().StringVar(why, "why", "", "the reason, which is recorded")
	_ = c.MarkFlagRequired("why") // the flag exists
}
