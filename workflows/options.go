// Package workflows orchestrates runs: which activity follows which. It does no I/O, reads no clock and draws no random number; it knows domain, the
// workflow SDK and the activities' types.
package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/activities"
)

// Task queues.
const (
	QueueControl = "control"
	QueueRollout = "rollout"
	QueueModel   = "model"
	QueueGPU     = "gpu"
)

// Activities are named through nil pointers, so that the compiler checks the names.
var (
	control *activities.Control
	rollout *activities.Rollouts
	models  *activities.Models
	gpu     *activities.GPU
)

// All are the workflows that a control worker runs.
var All = []any{Run, Epoch, Shard, Episode, FineTune, Synthesis, Evaluation, Reproduction}

// on gives the activity context of a queue. Every activity heartbeats or is short.
func on(ctx workflow.Context, queue, summary string) workflow.Context {
	o := workflow.ActivityOptions{
		TaskQueue: queue, StartToCloseTimeout: 2 * time.Hour, HeartbeatTimeout: 10 * time.Second, Summary: summary,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: 30 * time.Second, MaximumAttempts: activities.MaxTries},
	}
	if queue == QueueControl {
		o.HeartbeatTimeout, o.StartToCloseTimeout = 0, 30*time.Second // reads and writes of a few objects
	}
	if queue == QueueGPU {
		o.StartToCloseTimeout = maxUpdate
	}
	return workflow.WithActivityOptions(ctx, o)
}

// maxUpdate is of one attempt at an update; heartbeats tell whether it lives.
const maxUpdate = 7 * 24 * time.Hour

// child gives the context of a child workflow.
func child(ctx workflow.Context, id, summary string) workflow.Context {
	return workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{WorkflowID: id, StaticSummary: summary})
}

// long is for control work that grows with the epoch: it heartbeats.
func long(ctx workflow.Context) workflow.Context {
	o := workflow.GetActivityOptions(ctx)
	o.HeartbeatTimeout, o.StartToCloseTimeout = 10*time.Second, 30*time.Minute
	return workflow.WithActivityOptions(ctx, o)
}

func epochID(run string, epoch int) string { return fmt.Sprintf("%s/epoch/%04d", run, epoch) }

func evalID(run string, epoch int, label string) string {
	return fmt.Sprintf("%s/eval/%04d-%s", run, epoch, label)
}

// Search attributes of runs and epochs.
var (
	attrRun         = temporal.NewSearchAttributeKeyKeyword("CollabRun")
	attrStage       = temporal.NewSearchAttributeKeyKeyword("CollabStage")
	attrEpoch       = temporal.NewSearchAttributeKeyInt64("CollabEpoch")
	attrEnvironment = temporal.NewSearchAttributeKeyKeyword("CollabEnvironment")
	attrRate        = temporal.NewSearchAttributeKeyFloat64("CollabSuccessRate")
	attrSystem      = temporal.NewSearchAttributeKeyKeyword("CollabSystem")
)

// SearchAttributes are those that a namespace must have before a run can start there: without them its first workflow task fails for ever.
var SearchAttributes = []temporal.SearchAttributeKey{attrRun, attrStage, attrEpoch, attrEnvironment, attrRate, attrSystem}
