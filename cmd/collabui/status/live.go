package status

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/cmd/collabui/terminal"
	"github.com/collabui/collabui/workflows"
)

// live describes what a run is doing now.
type live struct {
	workflows.Progress
	Level     string        `json:"level,omitempty"`      // what the phase belongs to
	PerMinute float64       `json:"per_minute,omitempty"` // units that the phase counts
	LeftS     float64       `json:"left_s,omitempty"`     // seconds until the phase ends, at that rate
	Around    *surroundings `json:"around,omitempty"`
	Pending
}

// read queries a run for its progress. It returns false if no workflow answers.
func (l *live) read(ctx context.Context, temporal client.Client, st workflows.Status) (ok bool) {
	l.Progress, l.Level, ok = progressOf(ctx, temporal, st)
	done, all := l.counted()
	if took := time.Since(l.Since); 0 < done && done < all && !l.Since.IsZero() {
		l.PerMinute = float64(done) / took.Minutes()
		l.LeftS = took.Seconds() / float64(done) * float64(all-done)
	}

	return ok
}

// progressOf queries the child of a run, and that workflow's own child, for their progress, or the run if it has no
// child, and the rollouts that began early for theirs. of names what the phase belongs to. It returns false if no
// workflow answers.
func progressOf(
	ctx context.Context, temporal client.Client, st workflows.Status,
) (progress workflows.Progress, of string, ok bool) {
	id := cmp.Or(st.Child, st.Name)
	if id == "" {
		return progress, "", false
	}
	progress, ok = readProgress(ctx, temporal, id)
	if !ok || progress.Phase == "" {
		return progress, "", false
	}
	if st.Next != "" {
		if next, ok := readProgress(ctx, temporal, st.Next); ok {
			progress.Next = &next
		}
	}
	if progress.Child != "" {
		if inner, ok := readProgress(ctx, temporal, progress.Child); ok {
			inner.Next = progress.Next
			of = progress.Phase
			progress = inner
		}
	}

	return progress, of, true
}

// readProgress queries a workflow for its progress, and its shards for the episodes that only they have counted. It
// returns false if one of them does not answer.
func readProgress(ctx context.Context, temporal client.Client, id string) (progress workflows.Progress, ok bool) {
	if !app.Query(ctx, temporal, id, workflows.QueryProgress, &progress) {
		return progress, false
	}
	shards := make([]workflows.Progress, len(progress.Shards))
	answers := make([]bool, len(progress.Shards))
	var group sync.WaitGroup
	for i, shard := range progress.Shards {
		group.Go(func() { answers[i] = app.Query(ctx, temporal, shard, workflows.QueryProgress, &shards[i]) })
	}
	group.Wait()
	for _, shard := range shards {
		progress.Add(shard)
	}
	progress.Shards = nil

	return progress, !slices.Contains(answers, false)
}

// counted returns how much of the phase is done, and the total.
func (l *live) counted() (done, all int) {
	if l.Phase == workflows.PhaseUpdates {
		return l.Updates, l.Agents
	}

	return l.Done, l.Slots
}

// text prints what a run is doing now.
func (l *live) text(out io.Writer) {
	if l == nil {
		return
	}
	if l.Phase != "" {
		terminal.Line(out, "now: %s", l.line(false))
	}
	for _, stuck := range l.Stuck {
		terminal.Line(out, "%s", stuck)
	}
	for _, job := range l.Jobs {
		terminal.Line(out, "  %s", job.Now)
	}
	for _, x := range l.Again {
		terminal.Line(out, "tried again: %s in %s, try %d%s: %s", x.Activity, x.Of, x.Tries, othersText(x.Number-1),
			x.Why)
	}
	l.Around.text(out)
}

// units are the things that phases count, if not episodes.
var units = map[string]string{
	workflows.PhaseDemonstrations: "demonstrations",
	workflows.PhaseExploration:    "tasks explored",
	workflows.PhaseSynthesis:      "trajectories written about",
	workflows.PhaseUpdates:        "agents",
}

// line describes the phase, with a bar if bar is set.
func (l *live) line(bar bool) string {
	out := l.Phase
	if l.Level != "" {
		out = l.Level + ", " + out
	}
	if l.Steps > 0 {
		out += " after " + terminal.Count(l.Steps, "optimiser step")
	}
	if done, all := l.counted(); all > 0 {
		before := ","
		if bar {
			before = " " + terminal.Blocks(done, all)
		}
		out += fmt.Sprintf("%s %d of %d %s", before, done, all, cmp.Or(units[l.Phase], "episodes"))
	}
	if l.Done > 0 && l.Plays() {
		out += fmt.Sprintf(", %.1f %% right", 100*float64(l.Successes)/float64(l.Done))
	}
	if l.Pairs > 0 {
		out += ", " + terminal.Count(l.Pairs, "pair")
	}
	if l.Next != nil {
		out += fmt.Sprintf(", %d of %d episodes of the next epoch", l.Next.Done, l.Next.Slots)
	}
	if l.Failed > 0 {
		out += fmt.Sprintf(", %d failed", l.Failed)
	}
	if l.PerMinute > 0 {
		left := time.Duration(l.LeftS * float64(time.Second))
		out += fmt.Sprintf(", %.1f per minute%s", l.PerMinute, terminal.Left(left))
	}

	return out
}

func othersText(n int) string {
	if n < 1 {
		return ""
	}

	return " (and " + terminal.Count(n, "other") + ")"
}
