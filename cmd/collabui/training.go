package main

import (
	"cmp"
	"context"
	"io"
	"slices"

	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/converter"

	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
)

// trainingJob is a training job that runs.
type trainingJob struct {
	Of  string `json:"of"`  // its workflow
	Now string `json:"now"` // what its last heartbeat said: agent, step, loss
}

// training are the activities that train policies.
var training = []string{"TrainChunk", "Update", "Imitate"}

// addJob adds a pending activity that trains a policy.
func addJob(
	jobs []trainingJob, reads converter.DataConverter, of string, a *workflowpb.PendingActivityInfo,
) []trainingJob {
	said := a.GetHeartbeatDetails().GetPayloads()
	if !slices.Contains(training, a.GetActivityType().GetName()) || len(said) == 0 {
		return jobs
	}
	var now string
	if reads.FromPayload(said[0], &now) != nil {
		return jobs
	}

	return append(jobs, trainingJob{Of: of, Now: now})
}

// sortJobs orders jobs by what they say, which begins with the agent.
func sortJobs(jobs []trainingJob) {
	slices.SortFunc(jobs, func(a, b trainingJob) int {
		return cmp.Or(cmp.Compare(a.Of, b.Of), cmp.Compare(a.Now, b.Now))
	})
}

// readTrained reads the updates of the open epoch that have ended already.
func (l *live) readTrained(ctx context.Context, b store.Bucket, run string, epoch, agents int) {
	for agent := range agents {
		u, ended, err := runs.Run(run).Update(epoch, agent).May(ctx, b)
		if err != nil {
			return // the rest of show says what the store does not answer
		}
		if ended {
			l.Trained = append(l.Trained, u)
		}
	}
}

// trainingText prints the jobs that run, and the updates that have ended.
func (l *live) trainingText(w io.Writer) {
	for _, j := range l.Jobs {
		say(w, "  %s", j.Now)
	}
	if len(l.Trained) > 0 {
		printUpdates(w, l.Trained)
	}
}
