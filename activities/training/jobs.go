// Package training runs the training jobs of stage 1 and of updates on trainers. It registers no activity, and does not
// know where the data of a job come from.
package training

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/trainer"
)

// Server is a policy server that scores answers.
type Server struct {
	Name string // address, for people
	chat.Scorer
}

// Jobs runs the training jobs of a process, of stage 1 and of updates.
type Jobs struct {
	activities.Common
	Trainers map[string]trainer.Trainer // by their names in specifications
	Threads  int                        // of one job

	// Load publishes a policy to a number of servers; 0 means all.
	Load func(ctx context.Context, policy string, quorum int) error
	// Servers are the policy servers. They score the canaries of policies that are published.
	Servers []Server

	Data atomic.Pointer[Data] // what the newest job of stage 1 was trained on
}

// Data is training data that jobs of the same process use again.
type Data struct {
	Pairs    []domain.Example
	Unplayed int    // tasks
	Policy   string // digest of the policy that was trained on them last
}

// Trainer returns what updates a run's policies on this worker.
func (j *Jobs) Trainer(s spec.Spec) (trainer.Trainer, error) {
	found, ok := j.Trainers[s.Trainer.Name]
	if !ok {
		return nil, fault.New(fault.Invalid, "this worker has no trainer %q: it was built without it", s.Trainer.Name)
	}

	return found, nil
}

// Train runs a job of a run and reports its progress and its pace. If this worker drains, the job ends and continues
// elsewhere.
func (j *Jobs) Train(
	ctx context.Context, specification spec.Spec, job trainer.Job, progress activities.Progress, pace *Pace,
) (trainer.Result, error) {
	runner, err := j.Trainer(specification)
	if err != nil {
		return trainer.Result{}, err
	}
	if job.System == "" {
		template, err := rules.Template(specification)
		if err != nil {
			return trainer.Result{}, err
		}
		job.System = template.System()
	}
	if job.Objective != trainer.GRPO { // they change nothing, so they do not name another job
		job.Params.Clip = 0
		job.Params.KL = 0
	}
	if slices.ContainsFunc(job.Pairs, func(example domain.Example) bool { return example.Image != "" }) {
		job.Pixels = specification.Observation.Pixels
	}
	job.Workers = j.Threads
	job.Options = specification.Trainer.Options

	ctx, stop := untilDrained(ctx)
	defer stop()
	defer j.Metrics.Trained(job.ID)
	got, err := runner.Train(ctx, job, func(point domain.TrainPoint) {
		pace.note(time.Now(), point.Step)
		j.Metrics.Training(job.ID, point)
		progress(describe(point))
	})
	if errors.Is(err, context.Canceled) {
		err = context.Cause(ctx)
	}

	return got, err
}

// Skip returns the share of rows that training may leave out because they are too long: failed_share, or all if a
// person accepted that. Epoch 0 is stage 1.
func (j *Jobs) Skip(ctx context.Context, specification spec.Spec, epoch int) (float64, error) {
	accepted, err := runs.Run(specification.Name).IsAccepted(ctx, j.Bucket, epoch)
	if accepted {
		return 1, err
	}

	return specification.FailedShare, err
}

// Publish loads a policy into the policy servers of a run.
func (j *Jobs) Publish(ctx context.Context, run, policy string) error {
	specification, err := j.Runs.Spec(ctx, run, 0)
	if err != nil {
		return err
	}

	return j.Load(ctx, policy, specification.Serving.Quorum)
}

// describe returns a point of a training curve in a few words.
func describe(point domain.TrainPoint) string {
	if point.Step == 0 {
		return "the program starts"
	}
	line := fmt.Sprintf("step %d of %d, loss %.3f", point.Step, point.Steps, point.Loss)
	if point.Margin != 0 {
		line += fmt.Sprintf(", margin %.3f", point.Margin)
	}
	if point.Live != "" {
		line += ", " + point.Live
	}

	return line
}

// untilDrained ends a context when the worker has to stop: a job of hours must not delay that, and continues from its
// newest checkpoint.
func untilDrained(ctx context.Context) (context.Context, func()) {
	if !activity.IsActivity(ctx) { // tests call jobs directly
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-activity.GetWorkerStopChannel(ctx):
			cancel(fault.New(fault.Transient,
				"this worker stops; the job continues from its newest checkpoint on the next one"))
		case <-ctx.Done():
		}
	}()

	return ctx, func() { cancel(nil) }
}
