package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/collabui/collabui/internal/process/events"
	"github.com/collabui/collabui/workflows"
)

// viewer shows a run: as a bar in a terminal, as lines in a pipe, as events with --json.
type viewer struct {
	*app
	run      string
	terminal bool
	line     string // the bar that the terminal shows
	last     string // the last line in a pipe
	position string // position in the stream of events
	seen     map[string]bool
	paused   string // the reason that was shown
}

func (a *app) viewer(run string) *viewer {
	return &viewer{
		app: a, run: run, terminal: isTerminal(a.out) && !a.json, position: "0", seen: map[string]bool{},
	}
}

// status shows the status of a run.
func (v *viewer) status(ctx context.Context, t client.Client, status workflows.Status) {
	if status.Paused && v.paused != status.Reason {
		v.say("paused: %s\n  continue with %s", v.pasteable(status.Reason), v.typed("resume %s", v.run))
	}
	v.paused = status.Reason
	where := status.Stage
	if status.Stage == workflows.StageEpoch {
		where = fmt.Sprintf("epoch %d/%d", status.Epoch, status.Epochs)
	}
	v.progress(ctx, t, where, status)
}

// progress shows the progress of the workflow that a run waits for, or of the one that this workflow waits for in turn.
func (v *viewer) progress(ctx context.Context, t client.Client, where string, status workflows.Status) {
	var now live
	if !now.read(ctx, t, status) {
		if ctx.Err() != context.Canceled { // the context ends by ctrl-C
			v.bar("%s", where)
		}

		return
	}
	if strings.HasPrefix(where, now.Phase) {
		v.bar("%s", now.line(true))
	} else {
		v.bar("%s, %s", where, now.line(true))
	}
}

// progressOf queries the child of a run, and that workflow's own child, for their progress, or the run if it has no
// child, and the rollouts that began early for theirs. of names what the phase belongs to. It returns false if no
// workflow answers.
func progressOf(ctx context.Context, t client.Client, st workflows.Status) (p workflows.Progress, of string, ok bool) {
	id := cmp.Or(st.Child, st.Name)
	if id == "" {
		return p, "", false
	}
	if p, ok = readProgress(ctx, t, id); !ok || p.Phase == "" {
		return p, "", false
	}
	if st.Next != "" {
		if next, ok := readProgress(ctx, t, st.Next); ok {
			p.Next = &next
		}
	}
	if p.Child != "" {
		if inner, ok := readProgress(ctx, t, p.Child); ok {
			inner.Next = p.Next
			of = p.Phase
			p = inner
		}
	}

	return p, of, true
}

// readProgress queries a workflow for its progress, and its shards for the episodes that only they have counted. It
// returns false if one of them does not answer.
func readProgress(ctx context.Context, t client.Client, id string) (p workflows.Progress, ok bool) {
	if !query(ctx, t, id, workflows.QueryProgress, &p) {
		return p, false
	}
	shards := make([]workflows.Progress, len(p.Shards))
	answers := make([]bool, len(p.Shards))
	var wg sync.WaitGroup
	for i, shard := range p.Shards {
		wg.Go(func() { answers[i] = query(ctx, t, shard, workflows.QueryProgress, &shards[i]) })
	}
	wg.Wait()
	for _, x := range shards {
		p.Add(x)
	}
	p.Shards = nil

	return p, !slices.Contains(answers, false)
}

// objects returns a function that shows, once a second, how many of all objects are copied.
func (v *viewer) objects() func(done, all int) {
	shown := time.Now()

	return func(done, all int) {
		if time.Since(shown) > time.Second {
			shown = time.Now()
			v.bar("%s %d/%d objects", blocks(done, all), done, all)
		}
	}
}

// blocks returns a bar of 24 characters.
func blocks(done, all int) string {
	const width = 24
	n := 0
	if all > 0 {
		n = min(width, width*done/all)
	}

	return "[" + strings.Repeat("█", n) + strings.Repeat("·", width-n) + "]"
}

// bar replaces the bar of a terminal. A pipe gets a line if the text before the bar changed or the bar grew by four
// blocks.
func (v *viewer) bar(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	switch {
	case v.json:
		if text != v.last {
			v.last = text
			v.emit(events.Progress{Run: v.run, Text: text})
		}
	case v.terminal:
		const cut, wrap = "\x1b[?7l", "\x1b[?7h" // a line wider than the terminal would leave rows behind
		_, _ = fmt.Fprintf(v.out, "\r\x1b[K%s%s%s", cut, printable(text), wrap)
		v.line = text
	default:
		if k := coarse(text); k != v.last {
			v.last = k
			say(v.out, "%s", text)
		}
	}
}

// coarse returns the part of a text whose change makes a pipe print it again: the text before the bar, and the bar in
// sixths.
func coarse(text string) string {
	n := strings.Count(text, "█")
	if i := strings.IndexByte(text, '['); i > 0 {
		return fmt.Sprint(text[:i], n/4)
	}

	return text
}

// clear removes the bar.
func (v *viewer) clear() {
	if v.terminal && v.line != "" {
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
	say(v.out, format, args...)
}

// emit prints an event of the command line itself.
func (v *viewer) emit(e events.Event) {
	if raw, err := events.Encode(e); err == nil {
		say(v.out, "%s", raw)
	}
}

// event shows an event of the live stream: with --json every event, otherwise milestones as lines.
func (v *viewer) event(raw json.RawMessage) {
	if v.json {
		say(v.out, "%s", raw)
		return
	}
	e, err := events.Decode(raw)
	if err != nil || v.seen[string(raw)] {
		return
	}
	v.seen[string(raw)] = true // an activity that runs again emits its event again

	switch e := e.(type) {
	case events.Data:
		v.say("  data of level %d: %d rows kept, %d dropped", e.Level, e.Rows, e.Dropped)
	case events.Base:
		v.say("stage 1 is over: the base policy is ready")
	case events.Epoch:
		val := ""
		if e.Val >= 0 {
			val = fmt.Sprintf(", val %.1f %%", 100*e.Val)
		}
		if e.Kept != "" {
			val += "; the policies before its updates are kept: " + e.Kept
		}
		if e.Pairs == 0 {
			val += "; it trained nothing"
		}
		v.say("epoch %d: %.1f %% of rollouts right, %d pairs%s", e.Epoch, 100*e.Rollouts, e.Pairs, val)
	case events.Warning:
		v.say("  warning, epoch %d, agent %d: %s", e.Epoch, e.Agent, e.Text)
	case events.Result:
		v.say("  %s on %s: %.1f %% of %d", e.System, e.Split, 100*e.Rate, e.Episodes)
	}
}
