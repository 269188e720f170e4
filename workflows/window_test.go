package workflows_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/workflows"
)

// TestAShardKeepsAWindowOfEpisodesOpen counts the episodes that are open at the same time: as many as the specification
// says, and as a person says meanwhile.
func TestAShardKeepsAWindowOfEpisodesOpen(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct{ planned, later, want int }{
		"default":           {0, -1, workflows.Window},
		"specified":         {5, -1, 5},
		"wider later":       {5, 50, 50},
		"the default again": {5, 0, workflows.Window},
	} {
		if most := openAtOnce(t, x.planned, x.later); most != x.want {
			t.Errorf("%s: %d episodes were open at the same time, want %d", name, most, x.want)
		}
	}
}

// openAtOnce plays a shard and returns how many of its episodes were open at the same time. A window of 0 or more is
// set after a while.
func openAtOnce(t *testing.T, planned, later int) (most int) {
	t.Helper()
	var ts testsuite.WorkflowTestSuite
	ts.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := ts.NewTestWorkflowEnvironment()
	open := 0
	env.RegisterWorkflow(workflows.Shard)
	env.RegisterActivity(&activities.Rollouts{})
	env.RegisterActivity(&activities.Models{})
	env.OnActivity("Rollout", mock.Anything, mock.Anything).After(time.Minute).Return(activities.Played{}, nil)
	env.OnActivity("CreditAndPairing", mock.Anything, mock.Anything).Return(activities.Paired{}, nil)
	env.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, _ converter.EncodedValues) {
		if info.ActivityType.Name == "Rollout" {
			open++
			most = max(most, open)
		}
	})
	env.SetOnActivityCompletedListener(func(info *activity.Info, _ converter.EncodedValue, _ error) {
		if info.ActivityType.Name == "Rollout" {
			open--
		}
	})
	if later >= 0 {
		env.RegisterDelayedCallback(func() { env.SignalWorkflow("window", later) }, 90*time.Second)
	}
	env.ExecuteWorkflow(workflows.Shard, workflows.ShardInput{
		Run: "r", Epoch: 1, From: 1, To: rules.ShardSize, Window: planned,
	})

	var got workflows.Tally
	if err := env.GetWorkflowResult(&got); err != nil || got.Done != rules.ShardSize {
		t.Fatalf("the shard ended with %+v, %v, want %d episodes", got, err, rules.ShardSize)
	}

	return most
}
