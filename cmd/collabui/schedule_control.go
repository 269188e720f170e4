package main

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store/schedules"
	"github.com/collabui/collabui/workers"
	"github.com/collabui/collabui/workflows"
)

// scheduleControls are the commands that act on a schedule in Temporal.
func scheduleControls(a *app) []*cobra.Command {
	return []*cobra.Command{
		scheduleActCmd(a, "pause", "Let a schedule fire no more until it is resumed",
			func(ctx context.Context, h client.ScheduleHandle, why string) error {
				return h.Pause(ctx, client.SchedulePauseOptions{Note: userName() + ": " + why})
			}),
		scheduleResumeCmd(a),
		scheduleActCmd(a, "trigger", "Let a schedule fire now, as its overlap policy allows",
			func(ctx context.Context, h client.ScheduleHandle, _ string) error { return triggerSchedule(ctx, h) }),
		scheduleBackfillCmd(a),
		scheduleDeleteCmd(a),
		rulingCmd(a, "approve", workflows.UpdateApprove, "Approve the re-trained system that waits for it"),
		rulingCmd(a, "reject", workflows.UpdateReject, "Reject the re-trained system that waits for approval"),
	}
}

// scheduleActCmd is a command that does one thing with a schedule and shows it.
func scheduleActCmd(
	a *app, verb, short string, act func(context.Context, client.ScheduleHandle, string) error,
) *cobra.Command {
	var why string
	c := &cobra.Command{
		Use: verb + " SCHEDULE", Short: short, Args: cobra.ExactArgs(1),
		Example: "  collabui schedule " + verb + " nightly",
		RunE: func(c *cobra.Command, args []string) error {
			return a.onSchedule(c.Context(), args[0], func(ctx context.Context, h client.ScheduleHandle) error {
				return act(ctx, h, why)
			})
		},
	}
	if verb == "pause" {
		addWhy(c, &why)
	}

	return c
}

// triggerSchedule lets a schedule fire now. Temporal names a firing by its second, so one that came earlier in the same
// second would be taken for this one; triggerSchedule waits for the next.
func triggerSchedule(ctx context.Context, h client.ScheduleHandle) error {
	d, err := h.Describe(ctx)
	if err != nil {
		return err
	}
	if fired := d.Info.RecentActions; len(fired) > 0 {
		last := fired[len(fired)-1].ScheduleTime.Truncate(time.Second)
		select {
		case <-time.After(min(time.Until(last.Add(time.Second)), time.Second)):
		case <-ctx.Done():
			return ctx.Err()
		}
	}

	return h.Trigger(ctx, client.ScheduleTriggerOptions{})
}

func scheduleResumeCmd(a *app) *cobra.Command {
	var why string
	c := &cobra.Command{
		Use: "resume SCHEDULE", Short: "Let a schedule fire again", Args: cobra.ExactArgs(1),
		Long: `resume lets a paused schedule fire again. A schedule that the store has and Temporal does not is created
again as it was: one that was deleted, or restored from a backup.`,
		Example: "  collabui schedule resume nightly",
		RunE: func(c *cobra.Command, args []string) error {
			note := userName() + ": " + why

			return a.resumeSchedule(c.Context(), args[0], client.ScheduleUnpauseOptions{Note: note})
		},
	}
	addWhy(c, &why)

	return c
}

func (a *app) resumeSchedule(ctx context.Context, name string, o client.ScheduleUnpauseOptions) error {
	session, err := a.connect(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	err = session.temporal.ScheduleClient().GetHandle(ctx, name).Unpause(ctx, o)
	var gone *serviceerror.NotFound
	if errors.As(err, &gone) {
		err = session.recreate(ctx, name)
	}
	if err != nil {
		return err
	}

	return session.showSchedule(ctx, name)
}

// recreate creates a schedule in Temporal as the store has it.
func (s *session) recreate(ctx context.Context, name string) error {
	v, err := schedules.Schedule(name).Newest(ctx, s.bucket)
	if err != nil {
		return err
	}

	return s.putSchedule(ctx, v)
}

// putSchedule is workers.PutSchedule for a schedule of this session's store.
func (s *session) putSchedule(ctx context.Context, v schedules.Version) error {
	ctx, err := s.here(ctx, "")
	if err != nil {
		return err
	}

	return workers.PutSchedule(ctx, s.temporal, v)
}

// onSchedule does something with a schedule and shows it.
func (a *app) onSchedule(
	ctx context.Context, name string, act func(context.Context, client.ScheduleHandle) error,
) error {
	session, err := a.connect(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	if err := act(ctx, session.temporal.ScheduleClient().GetHandle(ctx, name)); err != nil {
		return noSchedule(name, err)
	}

	return session.showSchedule(ctx, name)
}

func scheduleBackfillCmd(a *app) *cobra.Command {
	var from, to string
	c := &cobra.Command{
		Use: "backfill SCHEDULE --from TIME --to TIME", Short: "Fire for times that have passed",
		Long: `backfill fires once for each time of the schedule in a span, one after the other. A firing of that time
that took place already is not repeated: it shows how it ended.`,
		Example: "  collabui schedule backfill nightly --from 2026-11-20T00:00:00Z --to 2026-11-22T00:00:00Z",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			b := client.ScheduleBackfill{Overlap: enums.SCHEDULE_OVERLAP_POLICY_BUFFER_ALL}
			var bad [2]error
			b.Start, bad[0] = time.Parse(time.RFC3339, from)
			b.End, bad[1] = time.Parse(time.RFC3339, to)
			if err := errors.Join(bad[:]...); err != nil || !b.End.After(b.Start) {
				return fault.New(fault.Invalid, "--from and --to: expected two times in order such as "+
					"2026-11-20T00:00:00Z, not %q and %q", from, to)
			}

			return a.onSchedule(c.Context(), args[0], func(ctx context.Context, h client.ScheduleHandle) error {
				return h.Backfill(ctx, client.ScheduleBackfillOptions{Backfill: []client.ScheduleBackfill{b}})
			})
		},
	}
	c.Flags().StringVar(&from, "from", "", "the first `TIME`")
	c.Flags().StringVar(&to, "to", "", "the last `TIME`")

	return c
}

func scheduleDeleteCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "delete SCHEDULE", Short: "Delete a schedule; what its firings did stays", Args: cobra.ExactArgs(1),
		Example: "  collabui schedule delete nightly",
		RunE: func(c *cobra.Command, args []string) error {
			return a.onSchedule(c.Context(), args[0], func(ctx context.Context, h client.ScheduleHandle) error {
				return h.Delete(ctx)
			})
		},
	}
}

// rulingCmd is a command with which a person decides about a re-trained system.
func rulingCmd(a *app, verb, update, short string) *cobra.Command {
	var why string
	c := &cobra.Command{
		Use: verb + " SCHEDULE", Short: short, Args: cobra.ExactArgs(1),
		Example: "  collabui schedule " + verb + " nightly --why 'looked at 20 episodes'",
		RunE: func(c *cobra.Command, args []string) error {
			return a.runRuling(c.Context(), verb, update, args[0], workflows.Command{Who: userName(), Why: why})
		},
	}
	addReason(c, &why)

	return c
}

func (a *app) runRuling(ctx context.Context, verb, update, name string, asked workflows.Command) error {
	session, err := a.connect(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	state, err := workers.DescribeSchedule(ctx, session.temporal, name)
	if err != nil {
		return noSchedule(name, err)
	}
	if len(state.Running) == 0 {
		return fault.New(fault.Invalid, "%s: no firing of schedule %s runs, so nothing waits for approval", verb, name)
	}

	ctx, cancel := context.WithTimeout(ctx, 30*time.Second) // without a worker, no update is answered
	defer cancel()
	var status workflows.FiringStatus
	h, err := session.temporal.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: state.Running[0], UpdateName: update, WaitForStage: client.WorkflowUpdateStageCompleted,
		Args: []any{asked},
	})
	if err == nil {
		err = h.Get(ctx, &status)
	}
	if err != nil && ctx.Err() != nil {
		return fault.New(fault.Transient, "%s %s: no worker answers: %w", verb, name, err)
	}
	if err != nil {
		return fault.New(fault.Invalid, "%s %s: %w", verb, name, err)
	}

	return a.print(status, func(w io.Writer) { say(w, "%s: %s of run %s is noted", name, verb, status.Run) })
}
