package status

import (
	"context"
	"strings"
	"testing"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// failing is a Temporal with two open workflows, whose workflow tasks have failed as often as they say.
type failing struct {
	client.Client
	attempts map[string]int32
}

func (f failing) ListWorkflow(
	context.Context, *workflowservice.ListWorkflowExecutionsRequest,
) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	var out workflowservice.ListWorkflowExecutionsResponse
	for id := range f.attempts {
		if strings.Contains(id, "/") {
			out.Executions = append(out.Executions, &workflow.WorkflowExecutionInfo{
				Execution: &common.WorkflowExecution{WorkflowId: id},
			})
		}
	}

	return &out, nil
}

func (f failing) DescribeWorkflow(_ context.Context, id, _ string) (*client.WorkflowExecutionDescription, error) {
	return &client.WorkflowExecutionDescription{RawResponse: &workflowservice.DescribeWorkflowExecutionResponse{
		PendingWorkflowTask: &workflow.PendingWorkflowTaskInfo{Attempt: f.attempts[id]},
		PendingActivities: []*workflow.PendingActivityInfo{{
			ActivityType: &common.ActivityType{Name: "Rollout"}, State: enums.PENDING_ACTIVITY_STATE_STARTED,
		}},
	}}, nil
}

func TestAWorkflowWhoseTasksFailIsNamed(t *testing.T) {
	t.Parallel()
	p := ReadPending(t.Context(), failing{attempts: map[string]int32{"r": 3, "r/epoch/0002": 4}}, "r")
	if len(p.Stuck) != 1 || p.Stuck[0].Workflow != "r/epoch/0002" {
		t.Errorf("stuck are %+v, want the epoch alone: tasks of the run have failed twice only", p.Stuck)
	}
	var out strings.Builder
	p.PrintRunning(&out)
	if got := out.String(); got != "still running, to their end: 2 Rollout\n" {
		t.Errorf("a paused run prints %q, want the two rollouts that still run", got)
	}
}
