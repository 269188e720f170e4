package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/process/supervisor"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/workers"
	"github.com/collabui/collabui/workflows"
)

// updateCmd is a command that sends one validated update to a run.
func updateCmd(a *app, use, short, name string) *cobra.Command {
	c := &cobra.Command{Use: use + " RUN", Short: short, Example: "  collabui " + use + " quickstart --why 'need the machine'", Args: cobra.ExactArgs(1)}
	why := c.Flags().String("why", "", "the reason, kept in the workflow's history")
	c.RunE = func(c *cobra.Command, args []string) error {
		e, err := a.endpoints()
		if err != nil {
			return err
		}
		t, err := workers.Dial(c.Context(), e, slog.New(slog.DiscardHandler))
		if err != nil {
			return err
		}
		defer t.Close()
		who := "unknown"
		if u, err := user.Current(); err == nil {
			who = u.Username
		}
		ctx, cancel := context.WithTimeout(c.Context(), 30*time.Second) // without a worker nobody answers
		defer cancel()
		h, err := t.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{WorkflowID: args[0], UpdateName: name, WaitForStage: client.WorkflowUpdateStageCompleted, Args: []any{workflows.Command{Who: who, Why: *why}}})
		var st workflows.Status
		if err == nil {
			err = h.Get(ctx, &st)
		}
		if err != nil {
			var gone *serviceerror.NotFound
			var down *serviceerror.Unavailable
			switch {
			case errors.As(err, &gone):
				return fmt.Errorf("%s: run %q does not run: %w", use, args[0], store.ErrNotFound)
			case errors.As(err, &down) || ctx.Err() != nil:
				return fault.New(fault.Transient, "%s %s: %w", use, args[0], err)
			}
			return fault.New(fault.Invalid, "%s %s: %w", use, args[0], err)
		}
		return a.print(st, func(w io.Writer) {
			_, _ = fmt.Fprintf(w, "%s: stage %s, epoch %d of %d, paused %v\n", st.Name, st.Stage, st.Epoch, st.Epochs, st.Paused)
		})
	}
	return c
}

func pauseCmd(a *app) *cobra.Command {
	return updateCmd(a, "pause", "Pause a run: episodes in flight end, no new ones begin", workflows.UpdatePause)
}

func resumeCmd(a *app) *cobra.Command {
	return updateCmd(a, "resume", "Go on with a paused run", workflows.UpdateResume)
}

func stopCmd(a *app) *cobra.Command {
	return updateCmd(a, "stop", "End a run; `train` goes on with it later", workflows.UpdateStop)
}

func logsCmd(a *app) *cobra.Command {
	c := &cobra.Command{Use: "logs [SERVICE]", Short: "Print the logs of the data folder's services", Example: "  collabui logs worker", Args: cobra.MaximumNArgs(1)}
	lines := c.Flags().Int("lines", 200, "last lines of each log")
	c.RunE = func(_ *cobra.Command, args []string) error {
		if err := a.local(); err != nil {
			return err
		}
		if *lines < 0 {
			return fault.New(fault.Invalid, "--lines must be from 0, not %d", *lines)
		}
		files, err := filepath.Glob(supervisor.LogPath(a.data, "*"))
		if err != nil || len(files) == 0 {
			return fault.New(fault.Invalid, "no logs in %s", filepath.Join(a.data, "logs"))
		}
		var known []string
		for _, f := range files {
			known = append(known, strings.TrimSuffix(filepath.Base(f), ".log"))
		}
		if len(args) == 1 {
			if !slices.Contains(known, args[0]) {
				return fault.New(fault.Invalid, "no log of %q; there are %s", args[0], strings.Join(known, ", "))
			}
			known = args
		}
		for _, n := range known {
			raw, err := os.ReadFile(supervisor.LogPath(a.data, n))
			if err != nil {
				return fault.New(fault.Invalid, "%w", err)
			}
			all := strings.Split(strings.TrimRight(string(raw), "\n"), "\n")
			for _, l := range all[max(0, len(all)-*lines):] {
				if err := a.print(map[string]string{"service": n, "line": l}, func(w io.Writer) { _, _ = fmt.Fprintf(w, "%-10s %s\n", n, l) }); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return c
}
