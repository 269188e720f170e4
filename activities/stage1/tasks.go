// Package stage1 has the activities of stage 1: tasks are played, data are written, and the base policy is trained on
// them. It does not know epochs.
package stage1

import (
	"context"
	"errors"
	"fmt"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/activities/play"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/episode"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/policy/endpoints"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// Rollouts play the training tasks of stage 1.
type Rollouts struct {
	activities.Common
	Suites    *play.Suites
	Endpoints *endpoints.Endpoints
	Wording   play.Wording
	Policies  chat.Model // answers for the policy of the chunk before; a model's name is a policy's digest
}

// Batch names a range of a run's tasks.
type Batch struct {
	Run  string
	From int
	To   int // exclusive

	// Policy is the digest of the policy whose mistakes agents hear in demonstrations that speak. It is empty in the
	// first chunk.
	Policy string `json:",omitempty"`
}

// batchTasks are the training tasks of a batch, and what they are played with.
type batchTasks struct {
	Batch
	spec   spec.Spec
	suite  envadapters.Suite
	writer activities.Writer
}

// tasks returns the training tasks of a batch. It refuses a worker that has other versions than the run began with.
func (r *Rollouts) tasks(ctx context.Context, batch Batch) (batchTasks, error) {
	specification, suite, err := play.TrainingSuite(ctx, r.Common, r.Suites, batch.Run, 0)
	if err != nil {
		return batchTasks{}, err
	}
	if err := r.Runs.CheckVersions(ctx, specification, 0, suite); err != nil {
		return batchTasks{}, err
	}
	writer, err := r.Runs.Writer(ctx, batch.Run)

	return batchTasks{Batch: batch, spec: specification, suite: suite, writer: writer}, err
}

// playOrReplace plays training task i of stage 1 or, if it is at fault, a replacement that was drawn in advance.
func (t batchTasks) playOrReplace(i int, play func(domain.Slot) error) error {
	var last error
	for replaced := range episode.MaxReplacements + 1 {
		slot, err := rules.Slot(t.spec, t.suite, 0, i+1, replaced)
		if err != nil {
			return err
		}
		last = play(slot)
		if !errors.Is(last, envadapters.ErrTask) {
			return last
		}
	}

	return fmt.Errorf("%d tasks in a row were at fault, the last because %w", episode.MaxReplacements+1, last)
}

// unplayedTask is a task that is at fault, with its replacements.
type unplayedTask struct {
	number int
	err    error
}

// playAll plays the training tasks of the batch. Tasks that are at fault, with their replacements, are left out if they
// are at most the share failed_share of the batch, or if a person accepted that. Until then every execution plays them
// again.
func (t batchTasks) playAll(
	ctx context.Context, bucket store.Bucket, play func(i int) error, leaveOut func(i int, why string) error,
) error {
	var unplayed []unplayedTask
	for i := t.From; i < t.To; i++ {
		err := play(i)
		switch {
		case errors.Is(err, envadapters.ErrTask):
			unplayed = append(unplayed, unplayedTask{i, err})
		case err != nil:
			return err
		}
	}

	if float64(len(unplayed)) > t.spec.FailedShare*float64(t.To-t.From) {
		accepted, err := runs.Run(t.Run).IsAccepted(ctx, bucket, 0)
		if err != nil {
			return err
		}
		if !accepted {
			return fault.New(fault.Invalid, "%d of %d training tasks of stage 1 cannot be played, more than "+
				"failed_share allows; the first is task %d: %w. Mend the environment, then play them again with "+
				"`collabui resume %[5]s`, or go on without them with "+
				"`collabui resume %[5]s --accept-failed --why TEXT`",
				len(unplayed), t.To-t.From, unplayed[0].number, unplayed[0].err, t.Run)
		}
	}
	for _, task := range unplayed {
		if err := leaveOut(task.number, task.err.Error()); err != nil {
			return err
		}
	}

	return nil
}
