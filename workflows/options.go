// Package workflows orchestrates runs: it contains the order of activities. Workflows do no I/O, read no clock and
// draw no random number.
//
// It links no browser driver.
package workflows

import (
	"fmt"
	"math"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/activities/roles"
)

// Task queues.
const (
	QueueControl = activities.QueueControl
	QueueCare    = activities.QueueCare
	QueueRollout = activities.QueueRollout
	QueueModel   = activities.QueueModel
	QueueGPU     = activities.QueueGPU
)

// RoleOf returns the role of the workers that serve a task queue.
func RoleOf(queue string) string {
	if queue == QueueCare {
		return QueueControl
	}

	return queue
}

// Activities are named through values without dependencies, so that the compiler checks the names.
var (
	control  roles.Control
	rollouts roles.Rollouts
	models   roles.Models
	gpu      roles.GPU
)

// All are the workflows that a control worker runs.
var All = []any{
	Run, Rollouts, Shard, FineTune, Synthesis, Evaluation, Retrain, Notify, Experiment, Preflight,
}

// on returns the activity context of a queue. Every activity heartbeats, except on the control queue, whose
// activities are short.
// Runs share the workers of a queue fairly: the server hands out activities of each run in turn.
func on(ctx workflow.Context, queue, summary string) workflow.Context {
	run, _, _ := strings.Cut(workflow.GetInfo(ctx).WorkflowExecution.ID, "/")
	options := workflow.ActivityOptions{
		Priority:  temporal.Priority{FairnessKey: run},
		TaskQueue: queue, StartToCloseTimeout: 2 * time.Hour, HeartbeatTimeout: heartbeatTimeout, Summary: summary,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: 30 * time.Second,
			MaximumAttempts: activities.MaxTries,
		},
	}
	switch queue {
	case QueueControl:
		options.HeartbeatTimeout = 0
		options.StartToCloseTimeout = 30 * time.Second
	case QueueGPU:
		options.StartToCloseTimeout = maxUpdate
	}

	return workflow.WithActivityOptions(ctx, options)
}

// heartbeatTimeout is the silence after which an activity counts as lost. The SDK sends a heartbeat every 48 s then,
// which is what Temporal Cloud counts.
const heartbeatTimeout = time.Minute

// maxUpdate limits one attempt at an update; heartbeats show whether it is alive.
const maxUpdate = 7 * 24 * time.Hour

// long is for control activities that grow with the epoch or that depend on others, such as an environment or a
// receiver of notices: they need more time, heartbeat, and have a queue of their own, so that they keep nothing waiting
// that a person waits for.
func long(ctx workflow.Context) workflow.Context {
	options := workflow.GetActivityOptions(ctx)
	options.TaskQueue = QueueCare
	options.HeartbeatTimeout = heartbeatTimeout
	options.StartToCloseTimeout = 30 * time.Minute

	return workflow.WithActivityOptions(ctx, options)
}

// soon is for activities whose end a person waits for.
func soon(ctx workflow.Context) workflow.Context {
	options := workflow.GetActivityOptions(ctx)
	options.StartToCloseTimeout = 10 * time.Second
	options.ScheduleToCloseTimeout = time.Minute

	return urgent(workflow.WithActivityOptions(ctx, options))
}

// urgent is for activities that an epoch or a person waits for: the server hands them out before all others of their
// queue, unless it is too old to know priorities.
func urgent(ctx workflow.Context) workflow.Context {
	options := workflow.GetActivityOptions(ctx)
	options.Priority.PriorityKey = 1

	return workflow.WithActivityOptions(ctx, options)
}

// child returns the context of a child workflow of a run, whose name is the first part of the id: lists of workflows
// find all that belong to a run.
func child(ctx workflow.Context, id, summary string) workflow.Context {
	run, _, _ := strings.Cut(id, "/")

	return workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID: id, StaticSummary: summary,
		TypedSearchAttributes: temporal.NewSearchAttributes(attrRun.ValueSet(run)),
	})
}

// setRate returns the update of a rate that lists of workflows show: rounded to a thousandth, and unset if nothing was
// played.
func setRate(rate float64, played bool) temporal.SearchAttributeUpdate {
	if !played {
		return attrRate.ValueUnset()
	}

	return attrRate.ValueSet(math.Round(1000*rate) / 1000)
}

func epochID(run string, epoch int) string { return fmt.Sprintf("%s/epoch/%04d", run, epoch) }

func evalID(run string, epoch int, label string) string {
	return fmt.Sprintf("%s/eval/%04d-%s", run, epoch, label)
}

// AttributeStage is the name of the search attribute that holds a run's stage.
const AttributeStage = "CollabStage"

// Search attributes of runs and epochs.
var (
	attrRun         = temporal.NewSearchAttributeKeyKeyword("CollabRun")
	attrStage       = temporal.NewSearchAttributeKeyKeyword(AttributeStage)
	attrEpoch       = temporal.NewSearchAttributeKeyInt64("CollabEpoch")
	attrEnvironment = temporal.NewSearchAttributeKeyKeyword("CollabEnvironment")
	attrRate        = temporal.NewSearchAttributeKeyFloat64("CollabSuccessRate")
	attrSystem      = temporal.NewSearchAttributeKeyKeyword("CollabSystem")
)

// SearchAttributes are those that a namespace must have before a run can start there: without them its first workflow
// task fails forever.
var SearchAttributes = []temporal.SearchAttributeKey{
	attrRun, attrStage, attrEpoch, attrEnvironment, attrRate, attrSystem,
}

// continueAsNew continues a workflow as new, with the build of the workers that is current then: a run moves to another
// build between two epochs, and never within one.
func continueAsNew(ctx workflow.Context, f, in any) error {
	return workflow.NewContinueAsNewErrorWithOptions(ctx, workflow.ContinueAsNewErrorOptions{
		InitialVersioningBehavior: workflow.ContinueAsNewVersioningBehaviorAutoUpgrade,
	}, f, in)
}
