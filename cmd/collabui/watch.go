package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/process/config"
	"github.com/collabui/collabui/internal/process/events"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/workers"
	"github.com/collabui/collabui/workflows"
)

func watchCmd(a *app) *cobra.Command {
	return &cobra.Command{Use: "watch RUN", Short: "Show a run until it ends; ctrl-C detaches", Example: "  collabui watch quickstart --json", Args: cobra.ExactArgs(1), RunE: func(c *cobra.Command, args []string) error {
		b, e, err := a.bucket()
		if err != nil {
			return err
		}
		if _, err := b.Get(c.Context(), runs.Run(args[0]).Spec().Key); err != nil {
			return fmt.Errorf("run %q: %w", args[0], err)
		}
		if _, err := b.Get(c.Context(), runs.Run(args[0]).End().Key); err == nil {
			return a.showEnd(c.Context(), b, args[0])
		}
		t, err := workers.Dial(c.Context(), e, slog.New(slog.DiscardHandler))
		if err != nil {
			return err
		}
		defer t.Close()
		return a.watch(c.Context(), b, t, e, args[0])
	}}
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

// viewer shows a run: a bar in a terminal, lines in a pipe, events with --json.
type viewer struct {
	*app
	run      string
	tty      bool
	line     string // the bar that stands in the terminal
	last     string // the last line in a pipe
	began    time.Time
	phase    string
	from     int
	position string
	seen     map[string]bool
	paused   string // the reason that was shown
}

// watch polls the run's queries and shows what changes, until the run ends.
func (a *app) watch(ctx context.Context, b store.Bucket, t client.Client, e config.Endpoints, run string) error {
	v := a.viewer(run)
	stream, err := events.Open(e.Redis)
	if err != nil {
		return fault.New(fault.Invalid, "redis address: %w", err)
	}
	if !a.json && e.UI != "" {
		v.say("run %s · Temporal UI: %s/namespaces/%s/workflows/%s", run, e.UI, e.Namespace, run)
	}
	for {
		done, err := v.poll(ctx, t, stream)
		if ctx.Err() != nil {
			v.clear()
			if !a.json {
				_, _ = fmt.Fprintf(a.out, "detached; run %s goes on. Come back with %s, end it with %s, end everything with %s.\n", run, a.typed("watch %s", run), a.typed("stop %s", run), a.typed("down"))
			}
			return nil
		}
		if done {
			v.clear()
			if err != nil {
				return err
			}
			return a.showEnd(ctx, b, run)
		}
		select {
		case <-ctx.Done():
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// poll looks once. Errors of the services are shown and waited out: the run itself goes on without its viewer.
func (v *viewer) poll(ctx context.Context, t client.Client, stream *events.Stream) (done bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	fresh, next := stream.Read(ctx, v.run, v.position)
	v.position = next
	for _, raw := range fresh {
		v.event(raw)
	}
	d, err := t.DescribeWorkflowExecution(ctx, v.run, "")
	var gone *serviceerror.NotFound
	if errors.As(err, &gone) {
		return true, fault.New(fault.Transient, "Temporal does not know run %s: its data was deleted, or the run never began; %s with its specification goes on from the store", v.run, v.typed("train"))
	}
	if err != nil {
		v.bar("waiting for Temporal (%v)", shorten(err))
		return false, nil
	}
	switch st := d.WorkflowExecutionInfo.Status; st {
	case enums.WORKFLOW_EXECUTION_STATUS_COMPLETED:
		return true, nil
	case enums.WORKFLOW_EXECUTION_STATUS_RUNNING, enums.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW:
	default:
		err := t.GetWorkflow(ctx, v.run, "").Get(ctx, nil)
		if err != nil && strings.Contains(err.Error(), workflows.ErrStopped) {
			return true, fmt.Errorf("%w: %s with its specification goes on with it", errStopped, v.typed("train"))
		}
		return true, fault.New(fault.Fatal, "run %s ended as %s: %w", v.run, st, err)
	}
	var st workflows.Status
	if !query(ctx, t, v.run, workflows.QueryStatus, &st) {
		return false, nil
	}
	v.status(ctx, t, st)
	return false, nil
}

func (a *app) viewer(run string) *viewer {
	return &viewer{app: a, run: run, tty: isTerminal(a.out) && !a.json, position: "0", seen: map[string]bool{}}
}

func query(ctx context.Context, t client.Client, id, name string, out any) bool {
	r, err := t.QueryWorkflow(ctx, id, "", name)
	return err == nil && r.Get(out) == nil
}

// status draws where the run stands.
func (v *viewer) status(ctx context.Context, t client.Client, st workflows.Status) {
	if st.Paused && v.paused != st.Reason {
		v.say("paused: %s\n  go on with %s", st.Reason, v.typed("resume %s", v.run))
	}
	v.paused = st.Reason
	where := st.Stage
	if st.Stage == "epoch" {
		where = fmt.Sprintf("epoch %d/%d", st.Epoch, st.Epochs)
	}
	v.progress(ctx, t, where, st.Child)
}

// progress draws what a workflow under way says of itself, and of the evaluation that it waits for.
func (v *viewer) progress(ctx context.Context, t client.Client, where, id string) {
	var p workflows.Progress
	if id == "" || !query(ctx, t, id, workflows.QueryProgress, &p) {
		v.bar("%s", where)
		return
	}
	var deeper workflows.Progress
	of := ""
	if p.Child != "" && query(ctx, t, p.Child, workflows.QueryProgress, &deeper) {
		p, of = deeper, p.Phase
	}
	if phase := where + p.Phase + fmt.Sprint(p.Steps); phase != v.phase || v.began.IsZero() {
		v.phase, v.began, v.from = phase, time.Now(), p.Done
	}
	rate := 0.0
	if p.Done > 0 {
		rate = 100 * float64(p.Successes) / float64(p.Done)
	}
	steps := ""
	if p.Steps > 0 {
		steps = fmt.Sprintf(" after %d optimiser steps", p.Steps)
	}
	switch p.Phase {
	case "rollouts":
		v.bar("%s %s %d/%d episodes, %.1f %% right so far, %d pairs%s", where, blocks(p.Done, p.Slots), p.Done, p.Slots, rate, p.Pairs, v.eta(p.Done, p.Slots))
	case "updates":
		v.bar("%s %s %d/%d updates", where, blocks(p.Updates, p.Agents), p.Updates, p.Agents)
	case "demonstrations", "exploration", "synthesis":
		v.bar("%s %s %s %d/%d %s%s", where, of, blocks(p.Done, p.Slots), p.Done, p.Slots, map[string]string{"demonstrations": "demonstrations", "exploration": "tasks explored", "synthesis": "trajectories written about"}[p.Phase], v.eta(p.Done, p.Slots))
	case "evaluation":
		what := "evaluation"
		if strings.HasPrefix(where, what) {
			what = ""
		}
		v.bar("%s%s %s %d/%d episodes, %.1f %% right so far%s", strings.TrimSpace(where+" "+what), steps, blocks(p.Done, p.Slots), p.Done, p.Slots, rate, v.eta(p.Done, p.Slots))
	default:
		v.bar("%s: %s%s", where, p.Phase, steps)
	}
}

func (v *viewer) eta(done, all int) string {
	n := done - v.from
	if n < 5 {
		return ""
	}
	left := time.Duration(float64(time.Since(v.began)) / float64(n) * float64(all-done))
	return ", about " + left.Round(time.Second).String() + " left"
}

func blocks(done, all int) string {
	const width = 24
	n := 0
	if all > 0 {
		n = width * done / all
	}
	return "[" + strings.Repeat("█", n) + strings.Repeat("·", width-n) + "]"
}

// bar replaces the bar of a terminal; a pipe gets a line when the text before the first number group changes or progress is a tenth further.
func (v *viewer) bar(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	switch {
	case v.json:
		if text != v.last {
			v.last = text
			v.emit(events.Progress{Run: v.run, Text: text})
		}
	case v.tty:
		_, _ = fmt.Fprintf(v.out, "\r\x1b[K%s", text)
		v.line = text
	default:
		if k := coarse(text); k != v.last {
			v.last = k
			_, _ = fmt.Fprintln(v.out, text)
		}
	}
}

// coarse is a text without what changes all the time: the bar stands for progress in 24 parts, of which a pipe sees 6.
func coarse(s string) string {
	n := strings.Count(s, "█")
	if i := strings.IndexByte(s, '['); i > 0 {
		return fmt.Sprint(s[:i], n/4)
	}
	return s
}

func (v *viewer) clear() {
	if v.tty && v.line != "" {
		_, _ = fmt.Fprint(v.out, "\r\x1b[K")
		v.line = ""
	}
}

// say prints a line that stays.
func (v *viewer) say(format string, args ...any) {
	if v.json {
		v.emit(events.Message{Run: v.run, Text: fmt.Sprintf(format, args...)})
		return
	}
	v.clear()
	_, _ = fmt.Fprintf(v.out, format+"\n", args...)
}

// emit prints one event of the command line's own, with --json.
func (v *viewer) emit(e events.Event) {
	if raw, err := events.Encode(e); err == nil {
		_, _ = fmt.Fprintf(v.out, "%s\n", raw)
	}
}

// event shows one event of the live stream: all with --json, milestones as lines.
func (v *viewer) event(raw json.RawMessage) {
	if v.json {
		_, _ = fmt.Fprintf(v.out, "%s\n", raw)
		return
	}
	e, err := events.Decode(raw)
	if err != nil || v.seen[string(raw)] {
		return
	}
	v.seen[string(raw)] = true // a milestone is told again when its activity runs again
	switch e := e.(type) {
	case events.Data:
		v.say("  data of level %d: %d rows kept, %d dropped", e.Level, e.Rows, e.Dropped)
	case events.Base:
		v.say("stage 1 is over: the base policy stands")
	case events.Epoch:
		line := fmt.Sprintf("epoch %d: %.1f %% of rollouts right, %d pairs", e.Epoch, 100*e.Rollouts, e.Pairs)
		if e.Val >= 0 {
			line += fmt.Sprintf(", val %.1f %%", 100*e.Val)
		}
		v.say("%s", line)
	case events.Warning:
		v.say("  warning, epoch %d, agent %d: %s", e.Epoch, e.Agent, e.Text)
	case events.Result:
		v.say("  %s on %s: %.1f %% of %d", e.System, e.Split, 100*e.Rate, e.Episodes)
	}
}

func shorten(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer"
	}
	s := err.Error()
	return s[:min(len(s), 80)]
}
