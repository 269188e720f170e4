package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"go.temporal.io/api/serviceerror"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/retrain"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/schedules"
	"github.com/collabui/collabui/workers"
	"github.com/collabui/collabui/workers/catalog"
)

func scheduleCmd(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "schedule",
		Short: "Train the accepted system of a line again when its environment has something new",
		Long: `A schedule is a Temporal Schedule. Each firing compares what an environment offers with what the accepted
system of a line was made for. If there is something new, it trains that system again on it, lets both systems play the
same episodes, and promotes the new one if the gate says that it is better. docs/operate.md explains the file.`,
		Example: "  collabui schedule create examples/schedules/nightly.yaml\n  collabui schedule show nightly",
	}
	c.AddCommand(scheduleCreateCmd(a), scheduleListCmd(a), scheduleShowCmd(a))
	c.AddCommand(scheduleControls(a)...)

	return c
}

func scheduleCreateCmd(a *app) *cobra.Command {
	var check, noProbe bool
	var up upOptions
	c := &cobra.Command{
		Use: "create FILE", Short: "Create a schedule from a file, or change it", Args: cobra.ExactArgs(1),
		Example: "  collabui schedule create examples/schedules/nightly.yaml\n" +
			"  collabui schedule create s.yaml --check",
		RunE: func(c *cobra.Command, args []string) error {
			s, err := loadSchedule(args[0])
			if err != nil {
				return err
			}
			if check {
				return a.print(s, func(w io.Writer) { say(w, "%s: schedule %s can be created", args[0], s.Name) })
			}
			if err := a.ensureUp(c.Context(), up); err != nil {
				return err
			}

			return a.createSchedule(c.Context(), s, noProbe)
		},
	}
	c.Flags().BoolVar(&check, "check", false, "only check the file")
	addNoProbe(c.Flags(), &noProbe)
	up.addFlags(c.Flags())

	return c
}

// loadSchedule reads the file of a schedule.
func loadSchedule(path string) (retrain.Schedule, error) {
	raw, err := readFile(path)
	if err != nil {
		return retrain.Schedule{}, fault.New(fault.Invalid, "read the schedule: %w", err)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return retrain.Schedule{}, fault.New(fault.Invalid, "read the schedule: %w", err)
	}

	return retrain.Parse(spec.Source{Name: path, Dir: filepath.Dir(abs)}, raw, catalog.All{})
}

// createSchedule records a version of a schedule, and lets Temporal fire by it.
func (a *app) createSchedule(ctx context.Context, s retrain.Schedule, noProbe bool) error {
	session, err := a.connect(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	if err := workers.CheckNamespace(ctx, session.temporal, session.ends.Namespace); err != nil {
		return err
	}
	if err := session.admitSchedule(ctx, s, noProbe); err != nil {
		return err
	}
	v := schedules.Version{Schedule: s, Who: userName(), At: time.Now().UTC()}
	if v, err = schedules.Append(ctx, session.bucket, v); err != nil {
		return err
	}
	if err := session.putSchedule(ctx, v); err != nil {
		return err
	}

	return session.showSchedule(ctx, s.Name)
}

func scheduleListCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List all schedules", Args: cobra.NoArgs, Example: "  collabui schedule list --json",
		RunE: func(c *cobra.Command, _ []string) error {
			session, err := a.connect(c.Context())
			if err != nil {
				return err
			}
			defer session.Close()
			names, err := schedules.Names(c.Context(), session.bucket)
			if err != nil {
				return err
			}
			for _, name := range names {
				x, err := session.schedule(c.Context(), name)
				if err != nil {
					return err
				}
				if err := a.print(x, x.line); err != nil {
					return err
				}
			}

			return nil
		},
	}
}

func scheduleShowCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "show SCHEDULE", Short: "Show a schedule, its next firings and how the last ones ended",
		Args: cobra.ExactArgs(1), Example: "  collabui schedule show nightly",
		RunE: func(c *cobra.Command, args []string) error {
			session, err := a.connect(c.Context())
			if err != nil {
				return err
			}
			defer session.Close()

			return session.showSchedule(c.Context(), args[0])
		},
	}
}

// scheduleInfo is a schedule as commands print it.
type scheduleInfo struct {
	Name    string `json:"name"`
	Line    string `json:"line"`
	Version int    `json:"version"`
	Deleted bool   `json:"deleted,omitempty"`
	workers.ScheduleState
	Outcomes []schedules.Outcome `json:"outcomes"` // of all firings, oldest first
}

// schedule reads what the store and Temporal know of a schedule.
func (s *session) schedule(ctx context.Context, name string) (scheduleInfo, error) {
	x := scheduleInfo{Name: name}
	v, err := schedules.Schedule(name).Newest(ctx, s.bucket)
	if err != nil {
		return x, err
	}
	x.Line, x.Version = v.Schedule.Line, v.Number
	if x.Outcomes, err = schedules.Schedule(name).Outcomes(ctx, s.bucket); err != nil {
		return x, err
	}
	x.ScheduleState, err = workers.DescribeSchedule(ctx, s.temporal, name)
	var gone *serviceerror.NotFound
	if errors.As(err, &gone) {
		x.Deleted, err = true, nil
	}

	return x, err
}

// state says in a word whether the schedule fires.
func (x scheduleInfo) state() string {
	switch {
	case x.Deleted:
		return "deleted"
	case x.Paused:
		return "paused"
	case len(x.Running) > 0:
		return "running"
	}

	return "waiting"
}

func (x scheduleInfo) line(w io.Writer) {
	next := ""
	if len(x.Next) > 0 && !x.Paused {
		next = "next " + x.Next[0].UTC().Format(time.DateTime)
	}
	say(w, "%-16s line %-16s %-8s %s", x.Name, x.Line, x.state(), next)
}

// lastOutcomes is the number of firings that show lists.
const lastOutcomes = 10

func (s *session) showSchedule(ctx context.Context, name string) error {
	x, err := s.schedule(ctx, name)
	if err != nil {
		return err
	}
	lookInto := s.typed("line history %s", x.Line)

	return s.print(x, func(w io.Writer) {
		x.line(w)
		if x.Note != "" {
			say(w, "  note: %s", x.Note)
		}
		if x.Deleted {
			say(w, "  Temporal does not have it: %s creates it again", s.typed("schedule resume %s", name))
		}
		say(w, "  version %d; fired %d times, skipped %d, missed %d", x.Version, x.Fired, x.Skipped, x.Missed)
		for _, id := range x.Running {
			say(w, "  runs: %s", id)
		}
		for _, o := range x.Outcomes[max(0, len(x.Outcomes)-lastOutcomes):] {
			say(w, "  %s %-18s %-8s %s", o.ID, o.News, o.Verb, o.Why)
		}
		say(w, "  what the line accepts: %s", lookInto)
	})
}

// noSchedule reports that there is no such schedule.
func noSchedule(name string, err error) error {
	var gone *serviceerror.NotFound
	if errors.As(err, &gone) {
		return fmt.Errorf("schedule %q: %w", name, store.ErrNotFound)
	}

	return err
}
