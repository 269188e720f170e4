package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/process/supervisor"
)

// logsOptions are the flags of logs.
type logsOptions struct {
	lines  int
	follow bool
}

func logsCmd(a *app) *cobra.Command {
	var o logsOptions
	c := &cobra.Command{
		Use:     "logs [SERVICE]",
		Short:   "Print the logs of the data folder's services",
		Example: "  collabui logs worker\n  collabui logs --follow --lines 0",
		Args:    cobra.MaximumNArgs(1),
		RunE:    func(c *cobra.Command, args []string) error { return a.runLogs(c.Context(), o, args) },
	}
	c.Flags().IntVar(&o.lines, "lines", 200, "number of last lines of each log")
	c.Flags().BoolVarP(&o.follow, "follow", "f", false, "go on with what is written, until ctrl-C")

	return c
}

func (a *app) runLogs(ctx context.Context, o logsOptions, args []string) error {
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

	tails := make([]*tail, len(services))
	for i, service := range services {
		tails[i] = &tail{service: service, path: supervisor.LogPath(a.data, service)}
		lines, err := tails[i].read()
		if err != nil {
			return fault.New(fault.Invalid, "%w", err)
		}
		if err := a.printLog(service, lines[max(0, len(lines)-o.lines):]); err != nil {
			return err
		}
	}

	return a.followLogs(ctx, o.follow, tails)
}

// followLogs prints what is written into logs until the context ends.
func (a *app) followLogs(ctx context.Context, follow bool, tails []*tail) error {
	for follow {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(200 * time.Millisecond):
		}
		for _, t := range tails {
			lines, err := t.read()
			if err != nil && !errors.Is(err, os.ErrNotExist) { // it may be made anew
				return fault.New(fault.Invalid, "%w", err)
			}
			if err := a.printLog(t.service, lines); err != nil {
				return err
			}
		}
	}

	return nil
}

// tail is a log that is read as it grows.
type tail struct {
	service, path string
	at            int64  // what has been read
	rest          string // the beginning of a line that has not ended
}

// read returns the lines that were written since the last call. A log that was made anew is read from its beginning.
func (t *tail) read() ([]string, error) {
	f, err := os.Open(t.path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() < t.at {
		t.at, t.rest = 0, ""
	}
	if _, err := f.Seek(t.at, io.SeekStart); err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(f)
	t.at += int64(len(raw))
	lines := strings.Split(t.rest+string(raw), "\n")
	t.rest = lines[len(lines)-1]

	return lines[:len(lines)-1], err
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

// printLog prints lines of a service's log.
func (a *app) printLog(service string, lines []string) error {
	for _, line := range lines {
		err := a.print(map[string]string{"service": service, "line": line}, func(w io.Writer) {
			say(w, "%-10s %s", service, line)
		})
		if err != nil {
			return err
		}
	}

	return nil
}
