package activities

import (
	"context"

	"go.temporal.io/sdk/activity"
)

// Task queues, and roles of workers, except that the role control serves QueueCare, too.
const (
	QueueControl = "control" // for short activities
	QueueCare    = "care"    // for activities that may take long and for which no person waits
	QueueRollout = "rollout"
	QueueModel   = "model"
	QueueGPU     = "gpu"
)

// queueOf returns the task queue of the activity that runs.
func queueOf(ctx context.Context) string {
	if !activity.IsActivity(ctx) {
		return ""
	}

	return activity.GetInfo(ctx).TaskQueue
}
