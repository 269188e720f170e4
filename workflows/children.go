package workflows

import "go.temporal.io/sdk/workflow"

// run executes a child workflow and keeps it known while it is open.
func (r *runState) run(ctx workflow.Context, fn, in, out any) error {
	id := workflow.GetChildWorkflowOptions(ctx).WorkflowID

	return r.wait(ctx, workflow.ExecuteChildWorkflow(ctx, fn, in), id, out)
}

// wait waits for a child workflow, which is known while it is open.
func (r *runState) wait(ctx workflow.Context, own workflow.ChildWorkflowFuture, id string, out any) error {
	r.child, r.status.Child = own, id
	r.describe(ctx)
	defer func() { r.status.Child = "" }()

	return own.Get(ctx, out)
}

// signal sends a signal to the open children. One that has just ended needs none.
func (r *runState) signal(ctx workflow.Context, name string, value any) {
	if r.child != nil {
		_ = r.child.SignalChildWorkflow(ctx, name, value).Get(ctx, nil)
	}
	for _, e := range r.early {
		_ = e.child.SignalChildWorkflow(ctx, name, value).Get(ctx, nil)
	}
}
