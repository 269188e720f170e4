package workflows_test

import (
	"testing"
	"time"

	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/workflows"
)

// TestAShardKeepsAWindowOfEpisodesOpen counts the episodes that are open at the same time.
func TestAShardKeepsAWindowOfEpisodesOpen(t *testing.T) {
	t.Parallel()
	var ts testsuite.WorkflowTestSuite
	env := ts.NewTestWorkflowEnvironment()
	open, most := 0, 0
	episode := func(ctx workflow.Context, _ activities.SlotID) (workflows.Tally, error) {
		open++
		most = max(most, open)
		err := workflow.Sleep(ctx, time.Minute)
		open--

		return workflows.Tally{Done: 1}, err
	}
	env.RegisterWorkflow(workflows.Shard)
	env.RegisterWorkflowWithOptions(episode, workflow.RegisterOptions{Name: "Episode"})
	env.ExecuteWorkflow(workflows.Shard, workflows.ShardInput{Run: "r", Epoch: 1, From: 1, To: workflows.ShardSize})

	var got workflows.Tally
	if err := env.GetWorkflowResult(&got); err != nil || got.Done != workflows.ShardSize {
		t.Fatalf("the shard ended with %+v, %v, want %d episodes", got, err, workflows.ShardSize)
	}
	if most != workflows.Window {
		t.Errorf("%d episodes were open at the same time, want %d", most, workflows.Window)
	}
}
