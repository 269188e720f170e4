package status

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

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

func TestProgressNamesTheRolloutsOfTheNextEpoch(t *testing.T) {
	next := workflows.Progress{Phase: workflows.PhaseAhead, Slots: 64, Done: 40}
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
