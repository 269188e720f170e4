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
	"github.com/collabui/collabui/internal/process/payloads"
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
func ReadPending(ctx context.Context, t client.Client, run string) (p Pending) {
	codec, keys := payloads.New()
	if keys != nil {
		return p // connecting has reported the error
	}
	reads := codec.Converter()
	query := fmt.Sprintf(" AND WorkflowId STARTS_WITH '%s/'", run)
	health.DescribeOpen(ctx, t, query, []string{run}, func(id string, d *workflowservice.DescribeWorkflowExecutionResponse) {
		p.Stuck = health.AddStuck(p.Stuck, id, d.PendingWorkflowTask)
		for _, a := range d.PendingActivities {
			p.Jobs = addJob(p.Jobs, reads, id, a)
			if a.State == enums.PENDING_ACTIVITY_STATE_STARTED {
				if p.Running == nil {
					p.Running = map[string]int{}
				}
				p.Running[a.ActivityType.GetName()]++
			}
			if a.Attempt > 1 && a.LastFailure != nil {
				converter.DecodeCommonFailureAttributes(reads, a.LastFailure)
				p.Again = addRetry(p.Again, Retry{
					Activity: a.ActivityType.GetName(), Of: id, Number: 1, Tries: int(a.Attempt),
					Why: whyOf(a.LastFailure),
				})
			}
		}
	})
	slices.SortFunc(p.Again, func(a, b Retry) int { return cmp.Or(b.Number-a.Number, cmp.Compare(a.Of, b.Of)) })
	slices.SortFunc(p.Stuck, func(a, b health.Stuck) int { return cmp.Compare(a.Workflow, b.Workflow) })
	sortJobs(p.Jobs)

	return p
}

// PrintRunning reports which activities workers are still executing, if any.
func (p Pending) PrintRunning(w io.Writer) {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(p.Running)) {
		all = append(all, fmt.Sprintf("%d %s", p.Running[name], name))
	}
	if len(all) == 0 {
		terminal.Line(w, "nothing of it runs any more")

		return
	}
	terminal.Line(w, "still running, to their end: %s", strings.Join(all, ", "))
}

// addRetry adds an activity to those that fail in the same way.
func addRetry(all []Retry, x Retry) []Retry {
	for i := range all {
		if a := &all[i]; a.Activity == x.Activity && a.Why == x.Why {
			a.Number++
			a.Tries, a.Of = max(a.Tries, x.Tries), min(a.Of, x.Of)

			return all
		}
	}

	return append(all, x)
}

// whyOf returns the message of an activity's failure.
func whyOf(f *failure.Failure) string {
	why := f.GetMessage()
	if x := f.GetTimeoutFailureInfo(); x != nil && x.TimeoutType == enums.TIMEOUT_TYPE_HEARTBEAT {
		why = "its worker is silent"
	}

	why = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(why), "body:"))

	return strings.ToValidUTF8(why[:min(len(why), 300)], "")
}
