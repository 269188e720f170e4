package workflows_test

import (
	"testing"
	"time"

	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/activities"
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
	env := ts.NewTestWorkflowEnvironment()
	open := 0
	episode := func(ctx workflow.Context, _ activities.SlotID) (workflows.Tally, error) {
		open++
		most = max(most, open)
		err := workflow.Sleep(ctx, time.Minute)
		open--

		return workflows.Tally{Done: 1}, err
	}
	env.RegisterWorkflow(workflows.Shard)
	env.RegisterWorkflowWithOptions(episode, workflow.RegisterOptions{Name: "Episode"})
	if later >= 0 {
		env.RegisterDelayedCallback(func() { env.SignalWorkflow("window", later) }, 90*time.Second)
	}
	env.ExecuteWorkflow(workflows.Shard, workflows.ShardInput{
		Run: "r", Epoch: 1, From: 1, To: workflows.ShardSize, Window: planned,
	})

	var got workflows.Tally
	if err := env.GetWorkflowResult(&got); err != nil || got.Done != workflows.ShardSize {
		t.Fatalf("the shard ended with %+v, %v, want %d episodes", got, err, workflows.ShardSize)
	}

	return most
}
