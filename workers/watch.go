package workers

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/collabui/collabui/workflows"
)

// watchEvery is the time between two looks at what waits in Temporal.
const watchEvery = 15 * time.Second

// waiting are figures of the whole system. Every worker with the role control has them.
type waiting struct {
	backlog, age *prometheus.GaugeVec // by queue and kind
	runs         *prometheus.GaugeVec // by state
	missed       *prometheus.GaugeVec // by schedule
}

func newWaiting() *waiting {
	of := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "collabui", Name: name, Help: help}, labels)
	}

	return &waiting{
		backlog: of("backlog_tasks", "Tasks that wait for a worker, about.", "queue", "kind"),
		age:     of("backlog_age_seconds", "How long the oldest task has waited for a worker, about.", "queue", "kind"),
		runs:    of("runs", "Runs whose workflow is open, and those of them that a person must resume.", "state"),
		missed:  of("schedule_missed", "Firings that were later than catch_up allows.", "schedule"),
	}
}

// watch looks at what waits in Temporal, until the context ends. What cannot be read keeps its last value.
func (d *dependencies) watch(ctx context.Context, temporal client.Client) {
	w := newWaiting()
	for _, collector := range []prometheus.Collector{w.backlog, w.age, w.runs, w.missed} {
		d.metrics.Register(collector)
	}
	for {
		w.look(ctx, temporal, d.namespace)
		select {
		case <-ctx.Done():
			return
		case <-time.After(watchEvery):
		}
	}
}

func (w *waiting) look(ctx context.Context, temporal client.Client, namespace string) {
	ctx, cancel := context.WithTimeout(ctx, watchEvery)
	defer cancel()
	for _, queue := range Queues {
		w.queue(ctx, temporal, namespace, queue, "activity", enums.TASK_QUEUE_TYPE_ACTIVITY)
	}
	w.queue(ctx, temporal, namespace, workflows.QueueControl, "workflow", enums.TASK_QUEUE_TYPE_WORKFLOW)

	open := `WorkflowType = "Run" AND ExecutionStatus = "Running"`
	held := fmt.Sprintf("%s AND %s = %q", open, workflows.AttributeStage, workflows.StagePaused)
	for state, query := range map[string]string{"open": open, "held": held} {
		request := &workflowservice.CountWorkflowExecutionsRequest{Namespace: namespace, Query: query}
		response, err := temporal.CountWorkflow(ctx, request)
		if err == nil {
			w.runs.WithLabelValues(state).Set(float64(response.Count))
		}
	}
	w.schedules(ctx, temporal)
}

func (w *waiting) queue(
	ctx context.Context, temporal client.Client, namespace, queue, kind string, t enums.TaskQueueType,
) {
	response, err := temporal.WorkflowService().DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
		Namespace: namespace, TaskQueue: &taskqueue.TaskQueue{Name: queue}, TaskQueueType: t, ReportStats: true,
	})
	if err != nil {
		return
	}
	w.backlog.WithLabelValues(queue, kind).Set(float64(response.Stats.GetApproximateBacklogCount()))
	w.age.WithLabelValues(queue, kind).Set(response.Stats.GetApproximateBacklogAge().AsDuration().Seconds())
}

func (w *waiting) schedules(ctx context.Context, temporal client.Client) {
	all, err := temporal.ScheduleClient().List(ctx, client.ScheduleListOptions{})
	if err != nil {
		return
	}
	for all.HasNext() {
		entry, err := all.Next()
		if err != nil {
			return
		}
		if state, err := DescribeSchedule(ctx, temporal, entry.ID); err == nil {
			w.missed.WithLabelValues(entry.ID).Set(float64(state.Missed))
		}
	}
}
