package activities

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/trainer"
)

// trainer returns what updates a run's policies on this worker.
func (g *GPU) trainer(s spec.Spec) (trainer.Trainer, error) {
	t, ok := g.Trainers[s.Trainer.Name]
	if !ok {
		return nil, fault.New(fault.Invalid, "this worker has no trainer %q: it was built without it", s.Trainer.Name)
	}

	return t, nil
}

// pace is how fast a training job makes optimiser steps, from the first point of its progress to the last.
type pace struct {
	first, last time.Time
	from, to    int // steps
}

// at notes a point of a job's progress.
func (p *pace) at(now time.Time, step int) {
	switch {
	case step == 0:
	case p.first.IsZero():
		p.first, p.from = now, step
	default:
		p.last, p.to = now, step
	}
}

// perStep returns the seconds of an optimiser step; 0 if they are unknown.
func (p *pace) perStep() float64 {
	if p.to <= p.from {
		return 0
	}

	return p.last.Sub(p.first).Seconds() / float64(p.to-p.from)
}

// train runs a job of a run and reports its progress and its pace. If this worker drains, the job ends and continues
// elsewhere.
func (g *GPU) train(ctx context.Context, s spec.Spec, j trainer.Job, say say, at *pace) (trainer.Result, error) {
	t, err := g.trainer(s)
	if err != nil {
		return trainer.Result{}, err
	}
	if j.System == "" {
		template, err := rules.Template(s)
		if err != nil {
			return trainer.Result{}, err
		}
		j.System = template.System()
	}
	if j.Objective != trainer.GRPO {
		j.Params.Clip, j.Params.KL = 0, 0 // they change nothing, so they do not name another job
	}
	j.Workers, j.Options = g.Threads, s.Trainer.Options

	ctx, stop := untilDrained(ctx)
	defer stop()
	defer g.Metrics.Trained(j.ID)
	got, err := t.Train(ctx, j, func(p domain.TrainPoint) {
		at.at(time.Now(), p.Step)
		g.Metrics.Training(j.ID, p)
		say(progress(p))
	})
	if errors.Is(err, context.Canceled) {
		err = context.Cause(ctx)
	}

	return got, err
}

// skip returns the share of rows that training may leave out because they are too long: failed_share, or all if a
// person accepted that. Epoch 0 is stage 1.
func (g *GPU) skip(ctx context.Context, s spec.Spec, epoch int) (float64, error) {
	accepted, err := runs.Run(s.Name).IsAccepted(ctx, g.Bucket, epoch)
	if accepted {
		return 1, err
	}

	return s.FailedShare, err
}

// progress returns a point of a training curve in a few words.
func progress(p domain.TrainPoint) string {
	if p.Step == 0 {
		return "the program starts"
	}
	line := fmt.Sprintf("step %d of %d, loss %.3f", p.Step, p.Steps, p.Loss)
	if p.Margin != 0 {
		line += fmt.Sprintf(", margin %.3f", p.Margin)
	}
	if p.Live != "" {
		line += ", " + p.Live
	}

	return line
}

// untilDrained ends a context when the worker is asked to stop: a job of hours must not delay that, and continues from
// its newest checkpoint.
func untilDrained(ctx context.Context) (context.Context, func()) {
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

// publish loads a policy into the policy servers of a run.
func (g *GPU) publish(ctx context.Context, run, policy string) error {
	s, err := g.spec(ctx, run, 0)
	if err != nil {
		return err
	}

	return g.Load(ctx, policy, s.Serving.Quorum)
}

// Publish loads the policies of an epoch's updates into the policy servers, and returns their number. A policy that is
// loaded already is a success. It ends when as many servers as the specification asks for have all of them.
func (g *GPU) Publish(ctx context.Context, id EpochID) (int, error) {
	return do(ctx, g.log(id.Run, "epoch", id.Epoch), func(ctx context.Context, _ say) (int, error) {
		s, err := g.spec(ctx, id.Run, id.Epoch)
		if err != nil {
			return 0, err
		}
		system, err := runs.Run(id.Run).System(ctx, g.Bucket, id.Epoch, s.Agents)
		if err != nil {
			return 0, err
		}
		for i, policy := range system.Digests() {
			if err := g.Load(ctx, policy, s.Serving.Quorum); err != nil {
				return i, err
			}
		}

		return s.Agents, nil
	})
}
