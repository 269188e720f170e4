package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/cmd/collabui/terminal"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/workflows"
)

// resumeOptions are the flags of resume.
type resumeOptions struct {
	why    string
	retry  bool
	accept bool
	skip   []string
	update []string
	row    []string
}

func resumeCmd(a *app.App) *cobra.Command {
	var options resumeOptions
	cmd := &cobra.Command{
		Use:   "resume RUN",
		Short: "Resume a paused run, and decide about slots that failed",
		Long: `resume lets a paused run go on. If more slots of an epoch failed than failed_share allows,
--retry-failed plays their tasks again, and --accept-failed continues without them. --skip leaves out a slot whose task
can never be played, --skip-update an update that can never end, --skip-row a row that no update ends with. Whatever
else failed is tried again. Decisions are kept in the store with who made them and why.`,
		Example: "  collabui resume quickstart --retry-failed\n" +
			"  collabui resume quickstart --skip 1/4 --why 'the page is gone'",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runResume(cmd.Context(), a, options, args[0]) },
	}
	app.AddWhy(cmd, &options.why)
	flags := cmd.Flags()
	flags.BoolVar(&options.retry, "retry-failed", false, "play the failed slots of the epoch again")
	flags.BoolVar(&options.accept, "accept-failed", false, "go on without the failed slots of the epoch; needs --why")
	flags.StringSliceVar(&options.skip, "skip", nil, "leave out the slot `EPOCH/SLOT`; needs --why")
	flags.StringSliceVar(&options.update, "skip-update", nil,
		"leave out the update `EPOCH/AGENT`, agents from 0: the agent keeps its policy; needs --why")
	flags.StringSliceVar(&options.row, "skip-row", nil,
		"leave `EPOCH/AGENT/ROW` out of an update: a row of the agent's data set, from 1; needs --why")
	cmd.MarkFlagsMutuallyExclusive("retry-failed", "accept-failed")

	return cmd
}

func runResume(ctx context.Context, a *app.App, options resumeOptions, run string) error {
	skips := len(options.skip)+len(options.update)+len(options.row) > 0
	if (options.accept || skips) && strings.TrimSpace(options.why) == "" {
		return fault.New(fault.Invalid, "say with --why for what reason slots, updates or rows are left out")
	}
	session, err := a.Connect(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	if options.retry || options.accept { // the run's further course would depend on when it finds the decision
		if err := mustBePaused(ctx, session, run); err != nil {
			return err
		}
	}
	if options.retry || options.accept || skips {
		if err := decide(ctx, a, session.Store, options, runs.Run(run)); err != nil {
			return err
		}
	}
	err = control(ctx, session, workflows.UpdateResume, run, workflows.Command{Who: app.UserName(), Why: options.why})
	var refusal app.Refusal
	if skips && errors.As(err, &refusal) && fault.KindOf(mustBePaused(ctx, session, run)) == fault.Invalid {
		return nil // the run is not paused: the activity that is tried again finds the decision
	}

	return err
}

// mustBePaused returns an error unless a run is paused.
func mustBePaused(ctx context.Context, session *app.Session, run string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var st workflows.Status
	if !app.Query(ctx, session.Temporal, run, workflows.QueryStatus, &st) {
		return fault.New(fault.Transient, "run %s does not answer: see %s", run, session.Typed("doctor"))
	}
	if !st.Paused {
		return fault.New(fault.Invalid, "resume %s: %s", run, workflows.NotPaused)
	}

	return nil
}

// decide records what a person decides about slots.
func decide(ctx context.Context, a *app.App, bucket store.Bucket, options resumeOptions, run runs.Run) error {
	if _, err := run.Find(ctx, bucket); err != nil {
		return err
	}
	decision := runs.Decision{Who: app.UserName(), Why: options.why, At: time.Now().UTC()}

	if err := leaveOut(ctx, a, bucket, options, run, decision); err != nil {
		return err
	}
	committed, err := run.Committed(ctx, bucket)
	if err != nil {
		return err
	}
	if options.retry {
		slots, err := run.Retry(ctx, bucket, committed+1)
		text := fmt.Sprintf("played again: %s of epoch %d, %v", terminal.Count(len(slots), "slot"), committed+1, slots)
		if len(slots) == 0 {
			text = fmt.Sprintf("no slot of epoch %d has failed: what failed before it is tried again", committed+1)
		}
		if err == nil {
			err = printDecision(a, "retry_failed", fmt.Sprint(committed+1), text)
		}
		if err != nil {
			return err
		}
	}
	if !options.accept {
		return nil
	}

	// Before the first epoch has slots, only tasks of val that the base systems play can have failed.
	epoch := committed + 1
	_, begun, err := run.Slots(epoch).Sure(ctx, bucket)
	if err != nil {
		return err
	}
	if !begun {
		epoch = committed
	}
	_, _, err = run.Accepted(epoch).Record(ctx, bucket, func() (runs.Decision, error) { return decision, nil })

	return err
}

// leaveOut records which slots, updates and rows are left out.
func leaveOut(
	ctx context.Context, a *app.App, bucket store.Bucket, options resumeOptions, run runs.Run, d runs.Decision,
) error {
	for _, x := range []struct {
		flag, what string
		places     []string
		skip       func(place string) error
	}{
		{"skip", "the slot", options.skip, func(place string) error {
			epoch, slot, err := app.ParsePlace("--skip", place, 1)
			if err != nil {
				return err
			}

			return run.Skip(ctx, bucket, epoch, slot, d)
		}},
		{"skip_update", "the update", options.update, func(place string) error {
			epoch, agent, err := app.ParsePlace("--skip-update", place, 0)
			if err != nil {
				return err
			}

			return run.SkipUpdate(ctx, bucket, epoch, agent, d)
		}},
		{"skip_row", "the row", options.row, func(place string) error { return skipRow(ctx, bucket, run, place, d) }},
	} {
		for _, place := range x.places {
			if err := x.skip(place); err != nil {
				return err
			}
			if err := printDecision(a, x.flag, place, fmt.Sprintf("%s %s is left out", x.what, place)); err != nil {
				return err
			}
		}
	}

	return nil
}

// printDecision prints what a person decided: the flag, and the place to which it applies.
func printDecision(a *app.App, flag, place, text string) error {
	return a.Print(map[string]any{"decided": flag, "place": place}, func(w io.Writer) { terminal.Line(w, "%s", text) })
}

// skipRow leaves out a row, EPOCH/AGENT/ROW.
func skipRow(ctx context.Context, bucket store.Bucket, run runs.Run, text string, decision runs.Decision) error {
	place, last := path.Split(text)
	epoch, agent, err := app.ParsePlace("--skip-row", strings.TrimSuffix(place, "/"), 0)
	row, bad := strconv.Atoi(last)
	if err != nil || bad != nil || row < 1 {
		return fault.New(fault.Invalid, "--skip-row %s: expected EPOCH/AGENT/ROW, such as 1/0/17", text)
	}

	return run.SkipRow(ctx, bucket, epoch, agent, row, decision)
}
