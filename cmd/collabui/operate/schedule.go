package operate

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

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/cmd/collabui/preflight"
	"github.com/collabui/collabui/cmd/collabui/status"
	"github.com/collabui/collabui/cmd/collabui/terminal"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/retrain"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/schedules"
	"github.com/collabui/collabui/workers"
	"github.com/collabui/collabui/workers/catalog"
	"github.com/collabui/collabui/workflows"
)

func scheduleCmd(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "schedule",
		Short: "Train the accepted system of a line again when its environment has something new",
		Long: `A schedule is a Temporal Schedule. Each firing compares what an environment offers with what the accepted
system of a line was made for. If there is something new, it trains that system again on it, lets both systems play the
same episodes, and promotes the new one if the gate finds it better. docs/operate.md explains the file.

To pause a schedule, let it fire now or for a time that has passed, or delete it, use the Temporal UI or the program
temporal: the schedule has the same name there.`,
		Example: "  collabui schedule create examples/schedules/nightly.yaml\n  collabui schedule show nightly",
	}
	cmd.AddCommand(
		scheduleCreateCmd(a), scheduleShowCmd(a),
		rulingCmd(a, workflows.UpdateApprove, "Approve the re-trained system that waits for it"),
		rulingCmd(a, workflows.UpdateReject, "Reject the re-trained system that waits for approval"),
	)

	return cmd
}

func scheduleCreateCmd(a *app.App) *cobra.Command {
	var check, noProbe bool
	var up app.ServiceOptions
	cmd := &cobra.Command{
		Use:   "create FILE|SCHEDULE",
		Short: "Create a schedule from a file, or change it",
		Long: `create creates a schedule from a file, or changes it: firings under way keep to the version with which
they began. With the name of a schedule that the store has, it creates that one again in Temporal, as after a
restore.`,
		Example: "  collabui schedule create examples/schedules/nightly.yaml\n" +
			"  collabui schedule create s.yaml --check\n  collabui schedule create nightly",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := loadSchedule(args[0])
			stored := spec.IsName(args[0]) && errors.Is(err, fs.ErrNotExist)
			if err != nil && (check || !stored) {
				return err
			}
			if check {
				return a.Print(s, func(out io.Writer) {
					terminal.Line(out, "%s: schedule %s can be created", args[0],
						s.Name)
				})
			}
			if err := a.StartServices(cmd.Context(), up); err != nil {
				return err
			}
			session, err := a.Connect(cmd.Context())
			if err != nil {
				return err
			}
			defer session.Close()
			if stored {
				version, err := schedules.Schedule(args[0]).Newest(cmd.Context(), session.Store)
				if err != nil {
					return fmt.Errorf("there is no file %s; %w", args[0], err)
				}
				s = version.Schedule
			}

			return createSchedule(cmd.Context(), session, s, noProbe)
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "only check the file")
	preflight.AddNoProbe(cmd.Flags(), &noProbe)
	up.AddFlags(cmd.Flags())

	return cmd
}

// loadSchedule reads the file of a schedule.
func loadSchedule(path string) (retrain.Schedule, error) {
	raw, err := app.ReadFile(path)
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
func createSchedule(ctx context.Context, session *app.Session, schedule retrain.Schedule, noProbe bool) error {
	if err := workers.CheckNamespace(ctx, session.Temporal, session.Endpoints.Namespace); err != nil {
		return err
	}
	if err := admitSchedule(ctx, session, schedule, noProbe); err != nil {
		return err
	}
	version, err := schedules.Append(ctx, session.Store,
		schedules.Version{Schedule: schedule, Who: app.UserName(), At: time.Now().UTC()})
	if err != nil {
		return err
	}
	here, err := session.StartContext(ctx, "")
	if err != nil {
		return err
	}
	if err := workers.PutSchedule(here, session.Temporal, version); err != nil {
		return err
	}

	return showSchedule(ctx, session, schedule.Name)
}

func scheduleShowCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use: "show [SCHEDULE]", Short: "Show all schedules, or one with how its last firings ended",
		Args: cobra.MaximumNArgs(1), Example: "  collabui schedule show\n  collabui schedule show nightly --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			session, err := a.ConnectToRead(cmd.Context())
			if err != nil {
				return err
			}
			defer session.Close()
			if len(args) > 0 {
				return showSchedule(cmd.Context(), session, args[0])
			}
			names, err := schedules.Names(cmd.Context(), session.Store)
			if err != nil {
				return err
			}
			if len(names) == 0 {
				terminal.Line(a.Err, "note: there are no schedules yet")
			}
			for _, name := range names {
				info, err := schedule(cmd.Context(), session, name)
				if err != nil {
					return err
				}
				if err := a.Print(info, info.line); err != nil {
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
	Firing   *firing             `json:"firing,omitempty"` // under way
	Unknown  bool                `json:"unknown,omitempty"`
	Outcomes []schedules.Outcome `json:"outcomes"` // of all firings, oldest first
}

// firing is a firing that is under way.
type firing struct {
	workflows.FiringStatus
	View string `json:"view,omitempty"` // address of the pages about its run
}

// schedule reads what the store and Temporal know about a schedule.
func schedule(ctx context.Context, session *app.Session, name string) (scheduleInfo, error) {
	info := scheduleInfo{Name: name}
	version, err := schedules.Schedule(name).Newest(ctx, session.Store)
	if err != nil {
		return info, err
	}
	info.Line = version.Schedule.Line
	info.Version = version.Number
	if info.Outcomes, err = schedules.Schedule(name).Outcomes(ctx, session.Store); err != nil {
		return info, err
	}
	if session.Temporal == nil {
		info.Unknown = true

		return info, nil
	}
	info.ScheduleState, err = workers.DescribeSchedule(ctx, session.Temporal, name)
	var gone *serviceerror.NotFound
	if errors.As(err, &gone) {
		info.Deleted = true
		err = nil
	}
	if len(info.Running) > 0 {
		var under workflows.FiringStatus
		if app.Query(ctx, session.Temporal, info.Running[0], workflows.QueryStatus, &under) {
			info.Firing = &firing{FiringStatus: under}
		}
	}
	if info.Firing != nil && info.Firing.Run != "" {
		info.Firing.View = status.RunPage(session.Endpoints, info.Firing.Run)
	}

	return info, err
}

// state describes in a word whether the schedule fires.
func (x scheduleInfo) state() string {
	switch {
	case x.Unknown:
		return "unknown"
	case x.Deleted:
		return "deleted"
	case x.Paused:
		return "paused"
	case len(x.Running) > 0:
		return "running"
	}

	return "waiting"
}

func (x scheduleInfo) line(out io.Writer) {
	next := ""
	if len(x.Next) > 0 && !x.Paused {
		next = "next " + x.Next[0].UTC().Format(time.DateTime)
	}
	terminal.Line(out, "%-16s line %-16s %-8s %s", x.Name, x.Line, x.state(), next)
}

// text prints what a firing does now, and where its run is seen.
func (x *firing) text(out io.Writer) {
	if x == nil {
		return
	}
	terminal.Line(out, "    phase: %s", x.Stage)
	if x.Run != "" {
		terminal.Line(out, "    run: %s  %s", x.Run, x.View)
	}
}

// lastOutcomes is the number of firings that show lists.
const lastOutcomes = 10

func showSchedule(ctx context.Context, session *app.Session, name string) error {
	info, err := schedule(ctx, session, name)
	if err != nil {
		return err
	}
	lookInto := session.Typed("line show %s", info.Line)

	return session.Print(info, func(w io.Writer) {
		info.line(w)
		if info.Note != "" {
			terminal.Line(w, "  note: %s", info.Note)
		}
		if info.Deleted {
			terminal.Line(w, "  Temporal does not have it: %s creates it again",
				session.Typed("schedule create %s", name))
		}
		terminal.Line(w, "  version %d; fired %s, skipped %d, missed %d", info.Version,
			terminal.Count(int(info.Fired), "time"), info.Skipped, info.Missed)
		for _, id := range info.Running {
			terminal.Line(w, "  under way: %s", id)
		}
		info.Firing.text(w)
		for _, outcome := range info.Outcomes[max(0, len(info.Outcomes)-lastOutcomes):] {
			terminal.Line(w, "  %s %-18s %-8s %s", outcome.ID, outcome.News, outcome.Verb, outcome.Why)
		}
		terminal.Line(w, "  what the line accepts: %s", lookInto)
	})
}

// rulingCmd returns a command with which a person decides about a re-trained system.
func rulingCmd(a *app.App, verb, short string) *cobra.Command {
	var why string
	cmd := &cobra.Command{
		Use: verb + " SCHEDULE", Short: short, Args: cobra.ExactArgs(1),
		Example: "  collabui schedule " + verb + " nightly --why 'looked at 20 episodes'",
		RunE: func(cmd *cobra.Command, args []string) error {
			return runRuling(cmd.Context(), a, verb, args[0], workflows.Command{Who: app.UserName(), Why: why})
		},
	}
	app.AddRequiredWhy(cmd, &why)

	return cmd
}

func runRuling(ctx context.Context, a *app.App, verb, name string, asked workflows.Command) error {
	session, err := a.Connect(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	info, err := schedule(ctx, session, name)
	if err != nil {
		return err
	}
	var ruled workflows.FiringStatus
	var ended *serviceerror.NotFound
	if len(info.Running) > 0 {
		err = session.Update(ctx, verb, info.Running[0], asked, &ruled)
	}
	if len(info.Running) == 0 || errors.As(err, &ended) {
		return fault.New(fault.Invalid, "%s: no firing of schedule %s runs, so nothing waits for approval", verb, name)
	}
	if err != nil {
		return err
	}

	return a.Print(ruled, func(w io.Writer) { terminal.Line(w, "%s: %s of run %s is noted", name, verb, ruled.Run) })
}
