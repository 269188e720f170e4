package status

import (
	"context"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/cmd/collabui/health"
	"github.com/collabui/collabui/internal/config"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/view"
)

// States returns what Temporal knows about runs that have not finished, by name.
func States(
	ctx context.Context, bucket store.Bucket, endpoints config.Endpoints, names []string,
) map[string]view.RunState {
	live := TemporalReader{Ends: endpoints}
	defer live.Close()
	read := func(ctx context.Context, i int) (Report, error) {
		report := Report{Name: names[i], Status: stateAbsent}
		var err error
		report.Changes, err = runs.Run(names[i]).Changes(ctx, bucket, 0, 0)
		if err == nil {
			live.Read(ctx, &report)
		}

		return report, err
	}
	states := make(map[string]view.RunState, len(names))
	_ = store.InOrder(ctx, len(names), read, func(i int, report Report) error { // what is unknown is left out
		states[names[i]] = view.RunState{State: string(report.Status), Reason: report.Reason}

		return nil
	})

	return states
}

// Execution returns the id of the newest execution of a workflow, or "" if Temporal does not know.
func Execution(ctx context.Context, endpoints config.Endpoints, workflow string) string {
	ctx, cancel := context.WithTimeout(ctx, health.ProbeLimit)
	defer cancel()
	temporal, err := app.Dial(ctx, endpoints)
	if err != nil {
		return ""
	}
	defer temporal.Close()
	description, err := temporal.DescribeWorkflow(ctx, workflow, "")
	if err != nil {
		return ""
	}

	return description.WorkflowExecution.RunID
}
