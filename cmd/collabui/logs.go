package main

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/process/supervisor"
)

// logsOptions are the flags of logs.
type logsOptions struct {
	lines int
}

func logsCmd(a *app) *cobra.Command {
	var o logsOptions
	c := &cobra.Command{
		Use:     "logs [SERVICE]",
		Short:   "Print the logs of the data folder's services",
		Example: "  collabui logs worker",
		Args:    cobra.MaximumNArgs(1),
		RunE:    func(_ *cobra.Command, args []string) error { return a.runLogs(o, args) },
	}
	c.Flags().IntVar(&o.lines, "lines", 200, "number of last lines of each log")

	return c
}

func (a *app) runLogs(o logsOptions, args []string) error {
	if err := a.local(); err != nil {
		return err
	}
	if o.lines < 0 {
		return fault.New(fault.Invalid, "--lines must be at least 0, not %d", o.lines)
	}
	services, err := a.logged()
	if err != nil {
		return err
	}
	if len(args) == 1 {
		if !slices.Contains(services, args[0]) {
			return fault.New(fault.Invalid, "%q has no log; these have: %s", args[0], strings.Join(services, ", "))
		}
		services = args
	}

	for _, service := range services {
		if err := a.printLog(service, o.lines); err != nil {
			return err
		}
	}

	return nil
}

// logged returns the services that have a log.
func (a *app) logged() ([]string, error) {
	files, err := filepath.Glob(supervisor.LogPath(a.data, "*"))
	if err != nil || len(files) == 0 {
		return nil, fault.New(fault.Invalid, "no logs in %s", filepath.Join(a.data, "logs"))
	}
	var services []string
	for _, f := range files {
		services = append(services, strings.TrimSuffix(filepath.Base(f), ".log"))
	}

	return services, nil
}

// printLog prints the last lines of a service's log.
func (a *app) printLog(service string, lines int) error {
	raw, err := os.ReadFile(supervisor.LogPath(a.data, service))
	if err != nil {
		return fault.New(fault.Invalid, "%w", err)
	}
	all := strings.Split(strings.TrimRight(string(raw), "\n"), "\n")
	for _, line := range all[max(0, len(all)-lines):] {
		err := a.print(map[string]string{"service": service, "line": line}, func(w io.Writer) {
			say(w, "%-10s %s", service, line)
		})
		if err != nil {
			return err
		}
	}

	return nil
}
