package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/internal/store/verify"
)

func fsckCmd(a *app) *cobra.Command {
	return &cobra.Command{Use: "fsck", Short: "Verify every object of the store and what every run promises", Example: "  collabui fsck --json", Args: cobra.NoArgs,
		Long: "fsck reads the whole store and nothing else. It verifies the hash of every object and every reference, and for each run that every slot is committed once\nor recorded as failed, no update is applied twice, every pair traces to a labelled cell, a topology and a system version, and digests follow from the data.",
		RunE: func(c *cobra.Command, _ []string) error {
			b, _, err := a.bucket()
			if err != nil {
				return err
			}
			r, err := verify.Fsck(c.Context(), b)
			if err != nil {
				return err
			}
			names, err := runNames(c.Context(), b)
			if err != nil {
				return err
			}
			for _, n := range names {
				ps, err := verify.Run(c.Context(), b, n)
				r.Problems = append(r.Problems, ps...)
				if err != nil && len(r.Problems) == 0 {
					return err
				}
			}
			if err := a.print(r, func(w io.Writer) {
				_, _ = fmt.Fprintf(w, "%d objects, %d bytes, %d runs; %d unreferenced; %d problems\n", r.Objects, r.Bytes, len(names), len(r.Unreferenced), len(r.Problems))
				for _, p := range r.Problems {
					_, _ = fmt.Fprintln(w, "PROBLEM", p)
				}
				for _, u := range r.Unreferenced {
					_, _ = fmt.Fprintln(w, "unreferenced", u)
				}
			}); err != nil {
				return err
			}
			if len(r.Problems) > 0 {
				return fmt.Errorf("%w: %d problems", errFailed, len(r.Problems))
			}
			return nil
		}}
}
