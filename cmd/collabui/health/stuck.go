package health

import (
	"context"
	"fmt"
	"slices"
	"sync"

	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// Stuck is a workflow that makes no progress because its workflow tasks fail. Temporal tries them again forever.
type Stuck struct {
	Workflow string `json:"workflow"`
	Tries    int    `json:"tries"`
}

// stuckTries is the number of tries of a workflow task that may fail: a worker that ends, or is slow, costs some.
const stuckTries = 3

func (x Stuck) String() string {
	return fmt.Sprintf("workflow %s stands still: its workers have failed %d times to decide what comes next; "+
		"see the log of a control worker", x.Workflow, x.Tries-1)
}

// AddStuck adds a workflow if it is stuck.
func AddStuck(all []Stuck, id string, info *workflowpb.PendingWorkflowTaskInfo) []Stuck {
	if info.GetAttempt() <= stuckTries {
		return all
	}

	return append(all, Stuck{Workflow: id, Tries: int(info.GetAttempt())})
}

// maxOpen is the number of open workflows that are examined.
const maxOpen = 200

// DescribeOpen calls add with every open workflow that a query finds, one after the other.
func DescribeOpen(
	ctx context.Context, temporal client.Client, query string, more []string,
	add func(id string, description *workflowservice.DescribeWorkflowExecutionResponse),
) {
	open := slices.Clone(more)
	res, err := temporal.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		PageSize: maxOpen, Query: "ExecutionStatus = 'Running'" + query,
	})
	if err == nil {
		for _, info := range res.Executions {
			open = append(open, info.Execution.WorkflowId)
		}
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	places := make(chan struct{}, 8)
	for _, id := range open {
		wg.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			description, err := temporal.DescribeWorkflow(ctx, id, "")
			if err != nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			add(id, description.RawResponse)
		})
	}
	wg.Wait()
}
