package machine

import (
	"context"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/cmd/collabui/terminal"
	"github.com/collabui/collabui/internal/config"
	"github.com/collabui/collabui/internal/local/supervisor"
	"github.com/collabui/collabui/internal/observe/logging"
)

func upCmd(a *app.App) *cobra.Command {
	var options app.ServiceOptions
	var foreground bool
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start the local services, the policy server and a worker",
		Long: `up starts the local services, the policy server and a worker. A service whose address is in ` +
			config.EnvTemporal + `, ` + config.EnvS3 + `, ` + config.EnvRedis + ` or ` + config.EnvPolicy + ` is used
there, and none is started.`,
		Example: "  collabui up --data /tmp/other",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if foreground {
				return runForeground(cmd.Context(), a, options)
			}
			return runUp(cmd.Context(), a, options)
		},
	}
	options.AddFlags(cmd.Flags())
	cmd.Flags().BoolVar(&foreground, "foreground", false, "stay attached until ctrl-C")

	return cmd
}

func runUp(ctx context.Context, a *app.App, options app.ServiceOptions) error {
	if err := a.RequireLocal(); err != nil {
		return err
	}
	if err := a.StartServices(ctx, options); err != nil {
		return err
	}

	return showServices(a)
}

// runForeground runs the supervisor of the data folder.
func runForeground(ctx context.Context, a *app.App, options app.ServiceOptions) error {
	if err := a.RequireLocal(); err != nil {
		return err
	}
	endpoints, err := config.FromEnv()
	if err != nil {
		return err
	}
	log, err := logging.New(a.Err, logging.FromEnv())
	if err != nil {
		return err
	}

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := supervisor.Start(ctx, supervisor.Options{Data: a.Data, External: endpoints, Tabs: options.Tabs, Log: log})
	if err != nil {
		return err
	}
	if err := showServices(a); err != nil {
		return err
	}
	s.Wait(ctx)

	return nil
}

func showServices(a *app.App) error {
	st, _ := supervisor.Read(a.Data)

	return a.Print(st, func(out io.Writer) {
		for _, name := range supervisor.Addressed {
			service := st.Services[name]
			line := service.Addr
			if service.Problem != "" {
				line += "   down: " + service.Problem
			}
			terminal.Line(out, "%-9s %s", name, line)
		}
		terminal.Line(out, "%-9s %s", "ui", st.UI)
		terminal.Line(out, "%-9s %s", "logs", filepath.Join(a.Data, "logs"))
	})
}
