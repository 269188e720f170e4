package status

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"go.temporal.io/sdk/client"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/cmd/collabui/terminal"
	"github.com/collabui/collabui/internal/observe/events"
	"github.com/collabui/collabui/workflows"
)

// Progress shows a run while it is under way: its status, the workflow that it waits for, and its milestones.
type Progress struct {
	*terminal.Bar
	app    *app.App
	paused string          // the reason that was shown
	seen   map[string]bool // events that were shown
}

// NewProgress returns what shows a run, or another workflow.
func NewProgress(a *app.App, run string) *Progress {
	return &Progress{Bar: terminal.NewBar(a.Out, a.JSON, run), app: a, seen: map[string]bool{}}
}

// ShowRun queries the status of a run, and shows it.
func (p *Progress) ShowRun(ctx context.Context, temporal client.Client) {
	var status workflows.Status
	if !app.Query(ctx, temporal, p.Run, workflows.QueryStatus, &status) {
		return
	}
	if status.Paused && p.paused != status.Reason {
		p.Line("paused: %s\n  continue with %s", p.app.Pasteable(status.Reason), p.app.Typed("resume %s", p.Run))
	}
	p.paused = status.Reason
	where := status.Stage
	if status.Stage == workflows.StageEpoch {
		where = fmt.Sprintf("epoch %d/%d", status.Epoch, status.Epochs)
	}
	if StateOf(status) == statePaused {
		p.Show("paused in %s: %s", where, p.app.Pasteable(status.Reason))

		return
	}
	p.ShowWorkflow(ctx, temporal, where, status)
}

// ShowWorkflow shows the progress of the workflow that a run waits for, or of the workflow that this one waits for in
// turn.
func (p *Progress) ShowWorkflow(ctx context.Context, temporal client.Client, where string, status workflows.Status) {
	var now live
	if !now.read(ctx, temporal, status) {
		if ctx.Err() != context.Canceled { // the context ends by ctrl-C
			p.Show("%s", where)
		}

		return
	}
	if strings.HasPrefix(where, now.Phase) {
		p.Show("%s", now.line(true))
	} else {
		p.Show("%s, %s", where, now.line(true))
	}
}

// ShowEvent shows an event of the live stream: with --json every event, otherwise milestones as lines.
func (p *Progress) ShowEvent(raw json.RawMessage) {
	if p.app.JSON {
		terminal.Line(p.app.Out, "%s", raw)
		return
	}
	event, err := events.Decode(raw)
	if err != nil || p.seen[string(raw)] {
		return
	}
	p.seen[string(raw)] = true // an activity that runs again emits its event again

	switch e := event.(type) {
	case events.Data:
		p.Line("  data of level %d: %s kept, %d dropped", e.Level, terminal.Count(e.Rows, "row"), e.Dropped)
	case events.Base:
		p.Line("stage 1 is over: the base policy is ready")
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
		p.Line("epoch %d: %.1f %% of rollouts right, %s%s", e.Epoch, 100*e.Rollouts, terminal.Count(e.Pairs, "pair"),
			val)
	case events.Warning:
		p.Line("  warning, epoch %d, agent %d: %s", e.Epoch, e.Agent, e.Text)
	case events.Result:
		p.Line("  %s on %s: %.1f %% of %d", e.System, e.Split, 100*e.Rate, e.Episodes)
	}
}
