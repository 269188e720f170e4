package main

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// busy is a workflow that plays n episodes at once, with its id as their fairness key.
func busy(ctx workflow.Context, n int) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: "episodes", StartToCloseTimeout: time.Minute,
		Priority: temporal.Priority{FairnessKey: workflow.GetInfo(ctx).WorkflowExecution.ID},
	})
	var open []workflow.Future
	for range n {
		open = append(open, workflow.ExecuteActivity(ctx, "episode"))
	}
	for _, f := range open {
		if err := f.Get(ctx, nil); err != nil {
			return err
		}
	}

	return nil
}

// TestRunsShareWorkersFairly lets a run with a few episodes come after one with many, before there is a worker.
func TestRunsShareWorkersFairly(t *testing.T) {
	t.Parallel()

	addr := freeAddress(t)
	launch(t, "temporal", "--dir", t.TempDir(), "--addr", addr)
	c := dial(t, addr)
	workflows := worker.New(c, testQueue, worker.Options{})
	workflows.RegisterWorkflow(busy)
	if err := workflows.Start(); err != nil {
		t.Fatal(err)
	}
	defer workflows.Stop()

	const many, few = 60, 5
	first := begin(t, c, "large", many)
	second := begin(t, c, "small", few)

	var mu sync.Mutex
	var order []string
	places := worker.New(c, "episodes", worker.Options{
		MaxConcurrentActivityExecutionSize: 1, MaxConcurrentActivityTaskPollers: 1, DisableWorkflowWorker: true,
	})
	places.RegisterActivityWithOptions(func(ctx context.Context) error {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, activity.GetInfo(ctx).WorkflowExecution.ID)

		return nil
	}, activity.RegisterOptions{Name: "episode"})
	if err := places.Start(); err != nil {
		t.Fatal(err)
	}
	defer places.Stop()
	if err := second.Get(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	n := len(order)
	mu.Unlock()
	if n >= many/2 {
		t.Errorf("the small run ended after %d episodes of all, want it to end long before the large one: %v", n, order)
	}
	if err := first.Get(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
}

// begin starts a busy workflow and returns when all of its episodes wait for a worker.
func begin(t *testing.T, c client.Client, id string, n int) client.WorkflowRun {
	t.Helper()

	run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: id, TaskQueue: testQueue}, busy, n)
	if err != nil {
		t.Fatal(err)
	}
	err = until(t.Context(), "the episodes wait", func(ctx context.Context) error {
		d, err := c.DescribeWorkflowExecution(ctx, id, "")
		if err == nil && len(d.PendingActivities) != n {
			err = fmt.Errorf("%d of %d wait", len(d.PendingActivities), n)
		}

		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	return run
}
