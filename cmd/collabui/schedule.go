package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"go.temporal.io/api/serviceerror"

	"github.com/collabui/collabui/cmd/collabui/terminal"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/retrain"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store/schedules"
	"github.com/collabui/collabui/workers"
	"github.com/collabui/collabui/workers/catalog"
	"github.com/collabui/collabui/workflows"
)

func scheduleCmd(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "schedule",
		Short: "Train the accepted system of a line again when its environment has something new",
		Long: `A schedule is a Temporal Schedule. Each firing compares what an environment offers with what the accepted
system of a line was made for. If there is something new, it trains that system again on it, lets both systems play the
same episodes, and promotes the new one if the gate finds it better. docs/operate.md explains the file.

To pause a schedule, let it fire now or for a time that has passed, or delete it, use the Temporal UI or the program
temporal: the schedule has the same name there.`,
		Example: "  collabui schedule create examples/schedules/nightly.yaml\n  collabui schedule show nightly",
	}
	c.AddCommand(
		scheduleCreateCmd(a), scheduleShowCmd(a),
		rulingCmd(a, workflows.UpdateApprove, "Approve the re-trained system that waits for it"),
		rulingCmd(a, workflows.UpdateReject, "Reject the re-trained system that waits for approval"),
	)

	return c
}

func scheduleCreateCmd(a *app) *cobra.Command {
	var check, noProbe bool
	var up upOptions
	c := &cobra.Command{
		Use:   "create FILE|SCHEDULE",
		Short: "Create a schedule from a file, or change it",
		Long: `create creates a schedule from a file, or changes it: firings under way keep to the version with which
they began. With the name of a schedule that the store has, it creates that one again in Temporal, as after a
restore.`,
		Example: "  collabui schedule create examples/schedules/nightly.yaml\n" +
			"  collabui schedule create s.yaml --check\n  collabui schedule create nightly",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := loadSchedule(args[0])
			stored := spec.IsName(args[0]) && errors.Is(err, fs.ErrNotExist)
			if err != nil && (check || !stored) {
				return err
			}
			if check {
				return a.print(s, func(w io.Writer) { terminal.Line(w, "%s: schedule %s can be created", args[0], s.Name) })
			}
			if err := a.ensureUp(c.Context(), up); err != nil {
				return err
			}
			session, err := a.connect(c.Context())
			if err != nil {
				return err
			}
			defer session.Close()
			if stored {
				v, err := schedules.Schedule(args[0]).Newest(c.Context(), session.bucket)
				if err != nil {
					return fmt.Errorf("there is no file %s; %w", args[0], err)
				}
				s = v.Schedule
			}

			return session.createSchedule(c.Context(), s, noProbe)
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

// createSchedule records a version of a schedule, and registers it with Temporal.
func (s *session) createSchedule(ctx context.Context, x retrain.Schedule, noProbe bool) error {
	if err := workers.CheckNamespace(ctx, s.temporal, s.ends.Namespace); err != nil {
		return err
	}
	if err := s.admitSchedule(ctx, x, noProbe); err != nil {
		return err
	}
	v, err := schedules.Append(ctx, s.bucket, schedules.Version{Schedule: x, Who: userName(), At: time.Now().UTC()})
	if err != nil {
		return err
	}
	here, err := s.here(ctx, "")
	if err != nil {
		return err
	}
	if err := workers.PutSchedule(here, s.temporal, v); err != nil {
		return err
	}

	return s.showSchedule(ctx, x.Name)
}

func scheduleShowCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "show [SCHEDULE]", Short: "Show all schedules, or one with how its last firings ended",
		Args: cobra.MaximumNArgs(1), Example: "  collabui schedule show\n  collabui schedule show nightly --json",
		RunE: func(c *cobra.Command, args []string) error {
			session, err := a.connect(c.Context())
			if err != nil {
				return err
			}
			defer session.Close()
			if len(args) > 0 {
				return session.showSchedule(c.Context(), args[0])
			}
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

// scheduleInfo is a schedule in the form in which commands print it.
type scheduleInfo struct {
	Name    string `json:"name"`
	Line    string `json:"line"`
	Version int    `json:"version"`
	Deleted bool   `json:"deleted,omitempty"`
	workers.ScheduleState
	Outcomes []schedules.Outcome `json:"outcomes"` // of all firings, oldest first
}

// schedule reads what the store and Temporal know about a schedule.
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

// state describes in a word whether the schedule fires.
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
	terminal.Line(w, "%-16s line %-16s %-8s %s", x.Name, x.Line, x.state(), next)
}

// lastOutcomes is the number of firings that show lists.
const lastOutcomes = 10

func (s *session) showSchedule(ctx context.Context, name string) error {
	x, err := s.schedule(ctx, name)
	if err != nil {
		return err
	}
	lookInto := s.typed("line show %s", x.Line)

	return s.print(x, func(w io.Writer) {
		x.line(w)
		if x.Note != "" {
			terminal.Line(w, "  note: %s", x.Note)
		}
		if x.Deleted {
			terminal.Line(w, "  Temporal does not have it: %s creates it again", s.typed("schedule create %s", name))
		}
		terminal.Line(w, "  version %d; fired %d times, skipped %d, missed %d", x.Version, x.Fired, x.Skipped, x.Missed)
		for _, id := range x.Running {
			terminal.Line(w, "  runs: %s", id)
		}
		for _, o := range x.Outcomes[max(0, len(x.Outcomes)-lastOutcomes):] {
			terminal.Line(w, "  %s %-18s %-8s %s", o.ID, o.News, o.Verb, o.Why)
		}
		terminal.Line(w, "  what the line accepts: %s", lookInto)
	})
}

// rulingCmd returns a command with which a person decides about a re-trained system.
func rulingCmd(a *app, verb, short string) *cobra.Command {
	var why string
	c := &cobra.Command{
		Use: verb + " SCHEDULE", Short: short, Args: cobra.ExactArgs(1),
		Example: "  collabui schedule " + verb + " nightly --why 'looked at 20 episodes'",
		RunE: func(c *cobra.Command, args []string) error {
			return a.runRuling(c.Context(), verb, args[0], workflows.Command{Who: userName(), Why: why})
		},
	}
	addReason(c, &why)

	return c
}

func (a *app) runRuling(ctx context.Context, verb, name string, asked workflows.Command) error {
	session, err := a.connect(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	x, err := session.schedule(ctx, name)
	if err != nil {
		return err
	}
	var status workflows.FiringStatus
	var ended *serviceerror.NotFound
	if len(x.Running) > 0 {
		err = session.update(ctx, verb, x.Running[0], asked, &status)
	}
	if len(x.Running) == 0 || errors.As(err, &ended) {
		return fault.New(fault.Invalid, "%s: no firing of schedule %s runs, so nothing waits for approval", verb, name)
	}
	if err != nil {
		return err
	}

	return a.print(status, func(w io.Writer) { terminal.Line(w, "%s: %s of run %s is noted", name, verb, status.Run) })
}
