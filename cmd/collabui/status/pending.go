package status

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	enums "go.temporal.io/api/enums/v1"
	failure "go.temporal.io/api/failure/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/collabui/collabui/cmd/collabui/health"
	"github.com/collabui/collabui/cmd/collabui/terminal"
	"github.com/collabui/collabui/internal/payloads"
)

// Pending lists what the open workflows of a run wait for.
type Pending struct {
	Again   []Retry        `json:"tried_again,omitempty"`
	Jobs    []trainingJob  `json:"training,omitempty"`
	Running map[string]int `json:"running,omitempty"` // activities being executed by workers, by name
	Stuck   []health.Stuck `json:"stuck,omitempty"`
}

// Retry describes activities that fail in the same way and are tried again.
type Retry struct {
	Activity string `json:"activity"`
	Of       string `json:"of"` // the workflow of the first activity
	Number   int    `json:"number"`
	Tries    int    `json:"tries"` // the most tries of any activity
	Why      string `json:"why"`
}

// ReadPending returns what the open workflows of a run wait for.
func ReadPending(ctx context.Context, temporal client.Client, run string) (pending Pending) {
	codec, keys := payloads.New()
	if keys != nil {
		return pending // connecting has reported the error
	}
	reads := codec.Converter()
	query := fmt.Sprintf(" AND WorkflowId STARTS_WITH '%s/'", run)
	health.DescribeOpen(ctx, temporal, query, []string{run},
		func(id string, description *workflowservice.DescribeWorkflowExecutionResponse) {
			pending.Stuck = health.AddStuck(pending.Stuck, id, description.PendingWorkflowTask)
			for _, activity := range description.PendingActivities {
				pending.Jobs = addJob(pending.Jobs, reads, id, activity)
				if activity.State == enums.PENDING_ACTIVITY_STATE_STARTED {
					if pending.Running == nil {
						pending.Running = map[string]int{}
					}
					pending.Running[activity.ActivityType.GetName()]++
				}
				if activity.Attempt > 1 && activity.LastFailure != nil {
					converter.DecodeCommonFailureAttributes(reads, activity.LastFailure)
					pending.Again = addRetry(pending.Again, Retry{
						Activity: activity.ActivityType.GetName(), Of: id, Number: 1, Tries: int(activity.Attempt),
						Why: whyOf(activity.LastFailure),
					})
				}
			}
		})
	slices.SortFunc(pending.Again, func(a, b Retry) int { return cmp.Or(b.Number-a.Number, cmp.Compare(a.Of, b.Of)) })
	slices.SortFunc(pending.Stuck, func(a, b health.Stuck) int { return cmp.Compare(a.Workflow, b.Workflow) })
	sortJobs(pending.Jobs)

	return pending
}

// PrintRunning reports which activities workers are still executing, if any.
func (p Pending) PrintRunning(out io.Writer) {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(p.Running)) {
		all = append(all, fmt.Sprintf("%d %s", p.Running[name], name))
	}
	if len(all) == 0 {
		terminal.Line(out, "nothing of it runs any more")

		return
	}
	terminal.Line(out, "still running, to their end: %s", strings.Join(all, ", "))
}

// addRetry adds an activity to those that fail in the same way.
func addRetry(all []Retry, retry Retry) []Retry {
	for i := range all {
		if a := &all[i]; a.Activity == retry.Activity && a.Why == retry.Why {
			a.Number++
			a.Tries = max(a.Tries, retry.Tries)
			a.Of = min(a.Of, retry.Of)

			return all
		}
	}

	return append(all, retry)
}

// whyOf returns the message of an activity's failure.
func whyOf(f *failure.Failure) string {
	why := f.GetMessage()
	if info := f.GetTimeoutFailureInfo(); info != nil && info.TimeoutType == enums.TIMEOUT_TYPE_HEARTBEAT {
		why = "its worker is silent"
	}

	why = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(why), "body:"))

	return strings.ToValidUTF8(why[:min(len(why), 300)], "")
}
