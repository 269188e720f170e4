package status

import (
	"cmp"
	"slices"

	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/converter"
)

// trainingJob is a training job in progress.
type trainingJob struct {
	Of  string `json:"of"`  // its workflow
	Now string `json:"now"` // text of its last heartbeat: agent, step, loss
}

// training are the activities that train policies.
var training = []string{"TrainChunk", "Update", "Imitate"}

// addJob adds a pending activity that trains a policy.
func addJob(
	jobs []trainingJob, reads converter.DataConverter, of string, activity *workflowpb.PendingActivityInfo,
) []trainingJob {
	said := activity.GetHeartbeatDetails().GetPayloads()
	if !slices.Contains(training, activity.GetActivityType().GetName()) || len(said) == 0 {
		return jobs
	}
	var now string
	if reads.FromPayload(said[0], &now) != nil {
		return jobs
	}

	return append(jobs, trainingJob{Of: of, Now: now})
}

// sortJobs orders jobs by their text, which begins with the agent.
func sortJobs(jobs []trainingJob) {
	slices.SortFunc(jobs, func(a, b trainingJob) int {
		return cmp.Or(cmp.Compare(a.Of, b.Of), cmp.Compare(a.Now, b.Now))
	})
}
