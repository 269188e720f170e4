package main

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/process/supervisor"
)

// logLines is the number of last lines of each log that doctor --logs prints.
const logLines = 50

// printLogs prints the ends of the logs of all services, or of those that are named.
func (a *app) printLogs(named []string) error {
	if err := a.local(); err != nil {
		return err
	}
	services, err := a.logged()
	if err != nil {
		return err
	}
	if len(named) > 0 {
		if !slices.Contains(services, named[0]) {
			return fault.New(fault.Invalid, "%q has no log; these have: %s", named[0], strings.Join(services, ", "))
		}
		services = named
	}

	for _, service := range services {
		raw, err := os.ReadFile(supervisor.LogPath(a.data, service))
		if err != nil {
			return fault.New(fault.Invalid, "%w", err)
		}
		lines := slices.Collect(strings.Lines(string(raw)))
		for _, line := range lines[max(0, len(lines)-logLines):] {
			line = strings.TrimSuffix(line, "\n")
			err := a.print(map[string]string{"service": service, "line": line}, func(w io.Writer) {
				say(w, "%-10s %s", service, line)
			})
			if err != nil {
				return err
			}
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
