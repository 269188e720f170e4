package main

import (
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/process/supervisor"
)

// downOptions are the flags of down.
type downOptions struct {
	purge bool
}

func downCmd(a *app) *cobra.Command {
	var o downOptions
	c := &cobra.Command{
		Use:     "down",
		Short:   "Stop everything that runs for the data folder; runs continue at the next start",
		Example: "  collabui down",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return a.runDown(o) },
	}
	c.Flags().BoolVar(&o.purge, "purge", false, "also delete the data folder: all runs, policies and logs")

	return c
}

func (a *app) runDown(o downOptions) error {
	if err := a.local(); err != nil {
		return err
	}
	if o.purge && !supervisor.Owns(a.data) {
		return fault.New(fault.Invalid, "%s is not a data folder of collabui: nothing is deleted", a.data)
	}
	stopped, err := supervisor.Stop(a.data, 30*time.Second)
	if err != nil {
		return err
	}
	if o.purge {
		if err := os.RemoveAll(a.data); err != nil {
			return fault.New(fault.Invalid, "purge: %w", err)
		}
	}

	return a.print(map[string]any{"stopped": stopped, "purged": o.purge}, func(w io.Writer) {
		if stopped {
			say(w, "stopped")
		} else {
			say(w, "nothing was running")
		}
	})
}
