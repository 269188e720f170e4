package main

import (
	"context"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/cmd/collabui/terminal"
	"github.com/collabui/collabui/internal/process/config"
	"github.com/collabui/collabui/internal/process/logging"
	"github.com/collabui/collabui/internal/process/supervisor"
)

func upCmd(a *app) *cobra.Command {
	var o upOptions
	var foreground bool
	c := &cobra.Command{
		Use:   "up",
		Short: "Start the local services, the policy server and a worker",
		Long: `up starts the local services, the policy server and a worker. A service whose address is in ` +
			config.EnvTemporal + `, ` + config.EnvS3 + `, ` + config.EnvRedis + ` or ` + config.EnvPolicy + ` is used
there, and none is started.`,
		Example: "  collabui up --data /tmp/other",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if foreground {
				return a.runForeground(c.Context(), o)
			}
			return a.runUp(c.Context(), o)
		},
	}
	o.addFlags(c.Flags())
	c.Flags().BoolVar(&foreground, "foreground", false, "stay attached until ctrl-C")

	return c
}

func (a *app) runUp(ctx context.Context, o upOptions) error {
	if err := a.local(); err != nil {
		return err
	}
	if err := a.ensureUp(ctx, o); err != nil {
		return err
	}

	return a.showServices()
}

// runForeground runs the supervisor of the data folder.
func (a *app) runForeground(ctx context.Context, o upOptions) error {
	if err := a.local(); err != nil {
		return err
	}
	e, err := config.FromEnv()
	if err != nil {
		return err
	}
	log, err := logging.New(a.err, logging.FromEnv())
	if err != nil {
		return err
	}

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := supervisor.Start(ctx, supervisor.Options{Data: a.data, External: e, Tabs: o.tabs, Log: log})
	if err != nil {
		return err
	}
	if err := a.showServices(); err != nil {
		return err
	}
	s.Wait(ctx)

	return nil
}

func (a *app) showServices() error {
	st, _ := supervisor.Read(a.data)

	return a.print(st, func(w io.Writer) {
		for _, name := range supervisor.Addressed {
			service := st.Services[name]
			line := service.Addr
			if service.Problem != "" {
				line += "   down: " + service.Problem
			}
			terminal.Line(w, "%-9s %s", name, line)
		}
		terminal.Line(w, "%-9s %s", "ui", st.UI)
		terminal.Line(w, "%-9s %s", "logs", filepath.Join(a.data, "logs"))
	})
}
