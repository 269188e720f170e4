package status

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/workflows"
)

// counting is a Temporal whose workflows tell a progress.
type counting struct {
	client.Client
	told workflows.Progress
}

func (c counting) QueryWorkflow(context.Context, string, string, string, ...any) (converter.EncodedValue, error) {
	raw, err := converter.GetDefaultDataConverter().ToPayloads(c.told)

	return client.NewValue(raw), err
}

func TestProgressBeyondItsEndHasNoTimeLeft(t *testing.T) {
	for done, left := range map[int]bool{100: true, 292: false} {
		p := workflows.Progress{
			Phase: workflows.PhaseRollouts, Done: done, Slots: 272, Since: time.Now().Add(-time.Minute),
		}
		var now live
		if !now.read(t.Context(), counting{told: p}, workflows.Status{Child: "x"}) {
			t.Fatal("the progress is not read, want what the workflow reports")
		}
		if got := now.line(true); strings.Contains(got, " left") != left {
			t.Errorf("the line is %q, want the time that is left: %v", got, left)
		}
	}
}

// holding is a Temporal with a run that is paused.
type holding struct {
	client.Client
	status workflows.Status
}

func (h holding) QueryWorkflow(context.Context, string, string, string, ...any) (converter.EncodedValue, error) {
	raw, err := converter.GetDefaultDataConverter().ToPayloads(h.status)

	return client.NewValue(raw), err
}

func TestTheProgressOfAPausedRunHasTheReason(t *testing.T) {
	var out strings.Builder
	progress := NewProgress(&app.App{Out: &out}, "r")
	progress.ShowRun(t.Context(), holding{status: workflows.Status{
		Name: "r", Stage: workflows.StageEpoch, Epoch: 1, Epochs: 3, Paused: true, Reason: "no key",
	}})
	if want := "paused in epoch 1/3: no key\n"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("the progress is %q, want %q at its end", out.String(), want)
	}
}

// sharded is a Temporal with an epoch, of whose shards some answer.
type sharded struct {
	client.Client
	answers map[string]workflows.Progress
}

func (c sharded) QueryWorkflow(_ context.Context, id, _, _ string, _ ...any) (converter.EncodedValue, error) {
	p, ok := c.answers[id]
	if !ok {
		return nil, errors.New("no worker answers")
	}
	raw, err := converter.GetDefaultDataConverter().ToPayloads(p)

	return client.NewValue(raw), err
}

func TestProgressCountsTheEpisodesOfOpenShards(t *testing.T) {
	temporal := sharded{answers: map[string]workflows.Progress{
		"epoch": {Phase: workflows.PhaseRollouts, Slots: 600, Done: 200, Successes: 90, Shards: []string{"b", "c"}},
		"b":     {Slots: 200, Done: 30, Successes: 10, Failed: 1, Pairs: 5},
		"c":     {Slots: 200, Done: 12, Successes: 2},
	}}
	p, _, ok := progressOf(t.Context(), temporal, workflows.Status{Child: "epoch"})
	if !ok || p.Slots != 600 || p.Done != 242 || p.Successes != 102 || p.Failed != 1 || p.Pairs != 5 ||
		p.Shards != nil {
		t.Errorf("the progress is %+v (read: %v), want 242 of 600 episodes, 102 right, 1 failed, 5 pairs", p, ok)
	}
	delete(temporal.answers, "c")
	if p, _, ok := progressOf(t.Context(), temporal, workflows.Status{Child: "epoch"}); ok {
		t.Errorf("the progress is %+v although a shard does not answer, want none", p)
	}
}

func TestProgressNamesTheRolloutsOfTheNextEpoch(t *testing.T) {
	next := workflows.Progress{Phase: workflows.PhaseRollouts, Slots: 64, Done: 40}
	updating := live{Progress: workflows.Progress{Phase: workflows.PhaseUpdates, Agents: 4, Updates: 1, Next: &next}}
	for want, got := range map[string]string{
		"updates [██████··················] 1 of 4 agents, 40 of 64 episodes of": updating.line(true),
		"40 of 64 episodes, 0.0 % right":        (&live{Progress: next}).line(false),
		"updates, 1 of 4 agents, 40 of 64 epis": updating.line(false),
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the line is %q, want one with %q", got, want)
		}
	}
}
