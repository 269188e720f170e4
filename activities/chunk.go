package activities

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/credit"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/method/synth"
	"github.com/collabui/collabui/internal/observe/events"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/trainer"
)

// ChunkID names a piece of stage 1's training, from 1.
type ChunkID struct {
	Run   string
	Chunk int
}

// Trained is a chunk, and what an optimiser step of it took.
type Trained struct {
	runs.Chunk
	StepSeconds float64 `json:",omitempty"` // if this attempt made the steps
}

// TrainChunk continues stage 1. Without levels, it makes one more chunk of optimiser steps on the demonstrations:
// chunks are parts of one job, each resumed from the one before. With levels, it does one level job, which starts from
// the policy of the job before.
func (g *GPU) TrainChunk(ctx context.Context, id ChunkID) (Trained, error) {
	return do(ctx, g.log(id.Run, "chunk", id.Chunk), func(ctx context.Context, say say) (Trained, error) {
		own, err := g.own(ctx, id.Run)
		if err != nil {
			return Trained{}, err
		}
		var at pace
		chunk := runs.Run(id.Run).Chunk(id.Chunk)
		c, _, err := chunk.Record(ctx, g.Bucket, func() (runs.Chunk, error) {
			c, err := g.chunk(ctx, id, say, &at)
			c.By = own.By

			return c, err
		})
		if err = own.check(chunk.Key, c.By, err); err == nil {
			err = g.publish(ctx, id.Run, c.Policy.Digest)
		}

		return Trained{Chunk: c, StepSeconds: at.perStep()}, err
	})
}

func (g *GPU) chunk(ctx context.Context, id ChunkID, say say, at *pace) (runs.Chunk, error) {
	s, err := g.spec(ctx, id.Run, 0)
	if err != nil {
		return runs.Chunk{}, err
	}
	if err := g.sameAs(ctx, s, 0, nil); err != nil {
		return runs.Chunk{}, err
	}

	out := runs.Chunk{Number: id.Chunk}
	var job trainer.Job
	var data *demonstrations // nil with levels
	if len(s.FineTune.Levels) > 0 {
		job, err = g.levelJob(ctx, s, id, s.FineTune.LevelJobs()[id.Chunk-1], &out)
	} else {
		job, data, err = g.demonstrationsJob(ctx, s, id)
	}
	if err != nil {
		return out, err
	}

	if job.Skip, err = g.skip(ctx, s, 0); err != nil {
		return out, err
	}
	got, err := g.train(ctx, s, job, say, at)
	if err != nil {
		return out, err
	}
	if got.Diverged != "" {
		return out, fault.New(fault.Fatal, "stage 1 diverged: %s", got.Diverged)
	}

	if data != nil {
		out.Unplayed = data.unplayed
		g.stage1.Store(&demonstrations{pairs: data.pairs, unplayed: data.unplayed, made: got.Digest})
	}
	out.Steps, out.Skipped = out.Steps+got.Steps, got.Skipped
	out.Policy, out.Report = runs.Policy{Digest: got.Digest, Tensor: got.TensorDigest}, got.Report
	if n := len(got.Curve); n > 0 {
		out.Loss = got.Curve[n-1].Loss
	}

	return out, nil
}

// demonstrations is the training data of stage 1 without levels.
type demonstrations struct {
	pairs    []domain.Example
	unplayed int    // tasks
	made     string // digest of the policy that was trained on them last
}

// demonstrationsJob returns the job of the chunks, up to the end of one of them, and its data.
func (g *GPU) demonstrationsJob(ctx context.Context, s spec.Spec, id ChunkID) (trainer.Job, *demonstrations, error) {
	d, err := g.demonstrations(ctx, s, id)
	if err != nil {
		return trainer.Job{}, d, err
	}
	if len(d.pairs) == 0 {
		return trainer.Job{}, d, fault.New(fault.Invalid,
			"no training task of stage 1 could be played: mend the environment, and train a run with another name")
	}

	return trainer.Job{
		ID: runs.Run(id.Run).FineTuneJob(), Objective: trainer.SFT, Pairs: d.pairs, Params: s.FineTune.Train,
		Seed:  domain.Seed(s.Seed, "finetune"),
		Until: id.Chunk * s.FineTune.ChunkSteps, Every: s.FineTune.ChunkSteps,
	}, d, nil
}

// demonstrations reads the demonstrations of a run, unless this process made the chunk before of them.
func (g *GPU) demonstrations(ctx context.Context, s spec.Spec, id ChunkID) (*demonstrations, error) {
	before, _, err := g.before(ctx, s, id)
	if err != nil {
		return nil, err
	}
	if d := g.stage1.Load(); d != nil && id.Chunk > 1 && d.made == before {
		return d, nil
	}

	played := make([]runs.Demonstration, s.FineTune.Demonstrations)
	reads, rctx := errgroup.WithContext(ctx)
	reads.SetLimit(parallelReads)
	for i := range played {
		reads.Go(func() (err error) {
			played[i], _, err = runs.Run(id.Run).Demonstration(i).Must(rctx, g.Bucket)

			return err
		})
	}
	if err := reads.Wait(); err != nil {
		return nil, err
	}

	d := &demonstrations{}
	for _, p := range played {
		d.pairs = append(d.pairs, p.Pairs...)
		if p.Failed != "" {
			d.unplayed++
		}
	}
	credit.BalanceActions(d.pairs)

	return d, nil
}

// levelJob returns the training job of a level.
func (g *GPU) levelJob(
	ctx context.Context, s spec.Spec, id ChunkID, l spec.LevelJob, out *runs.Chunk,
) (trainer.Job, error) {
	start, before, err := g.before(ctx, s, id)
	if err != nil {
		return trainer.Job{}, err
	}
	set, ref, err := runs.Run(id.Run).Level(l.Level).Must(ctx, g.Bucket)
	if err != nil {
		return trainer.Job{}, err
	}
	pairs, err := runs.ReadPairs(ctx, g.Bucket, set.Body)
	if err != nil {
		return trainer.Job{}, err
	}
	template, err := rules.Template(s)
	if err != nil {
		return trainer.Job{}, err
	}

	out.Stage, out.Level, out.Steps, out.Unplayed = l.Name(), &ref, before, set.Card.Counts.Unplayed
	job := trainer.Job{
		ID: runs.Run(id.Run).StageJob(id.Chunk), Start: start, Objective: trainer.SFT, Params: s.FineTune.Train,
		Seed: domain.Seed(s.Seed, "finetune", id.Chunk), Steps: l.Steps,
	}
	if l.Preference {
		job.Objective, job.Reference, job.Params = trainer.DPO, start, s.FineTune.Preference
		pairs = slices.DeleteFunc(pairs, func(p domain.Example) bool { return p.Rejected == "" })
		rules.Weigh(s, pairs, true)
	} else {
		credit.BalanceActions(pairs)
	}
	if len(pairs) == 0 {
		return job, fault.New(fault.Invalid,
			"stage 1, %s: the data set of level %d is empty; its card says why: `collabui show %s stage-1`",
			l.Name(), l.Level, id.Run)
	}
	job.Pairs, job.System = pairs, synth.SystemOf(pairs, template.System())

	return job, nil
}

// before returns the policy that a level job starts from, and the optimiser steps made before it. "" is a new policy,
// or the base model of a trainer of language models.
func (c *Common) before(ctx context.Context, s spec.Spec, id ChunkID) (policy string, steps int, err error) {
	if id.Chunk == 1 && s.FineTune.Base == domain.UntrainedBase {
		return "", 0, nil
	}
	if id.Chunk == 1 {
		return s.FineTune.Base, 0, nil
	}
	previous, _, err := runs.Run(id.Run).Chunk(id.Chunk-1).Must(ctx, c.Bucket)

	return previous.Policy.Digest, previous.Steps, err
}

// Adopt records the policy that the specification names, as chunk 0.
func (g *GPU) Adopt(ctx context.Context, run string) (runs.Chunk, error) {
	return do(ctx, g.log(run), func(ctx context.Context, _ say) (runs.Chunk, error) {
		c, _, err := runs.Run(run).Chunk(0).Record(ctx, g.Bucket, func() (runs.Chunk, error) {
			s, err := g.spec(ctx, run, 0)
			if err != nil {
				return runs.Chunk{}, err
			}
			t, err := g.trainer(s)
			if err != nil {
				return runs.Chunk{}, err
			}
			p, err := t.Adopt(ctx, s.FineTune.Base, s.Trainer.Options)
			policy := runs.Policy{Digest: p.Digest, Tensor: p.TensorDigest}

			return runs.Chunk{Stage: "given", Policy: policy, Report: p.Report}, err
		})
		if err == nil {
			err = g.publish(ctx, run, c.Policy.Digest)
		}

		return c, err
	})
}

// BaseChoice is the end of stage 1 as the workflow saw it.
type BaseChoice struct {
	Run   string
	Chunk int
	Why   string
	Curve []runs.EvalPoint
}

// CommitBase writes base.json.
func (c *Control) CommitBase(ctx context.Context, b BaseChoice) (runs.Policy, error) {
	return do(ctx, c.log(b.Run), func(ctx context.Context, _ say) (runs.Policy, error) {
		run := runs.Run(b.Run)
		base, _, err := run.Base().Record(ctx, c.Bucket, func() (runs.Base, error) {
			s, err := c.spec(ctx, b.Run, 0)
			if err != nil {
				return runs.Base{}, err
			}
			chunk, ref, err := run.Chunk(b.Chunk).Must(ctx, c.Bucket)
			rate := b.Curve[len(b.Curve)-1].Rate

			return runs.Base{
				Policy: chunk.Policy, Chunk: ref, Curve: b.Curve, StoppedBy: b.Why,
				Unplayed: chunk.Unplayed,
				InBand:   rate >= s.FineTune.StopLow && rate <= s.FineTune.StopHigh,
			}, err
		})
		if err == nil {
			c.Emit.send(b.Run, events.Base{Policy: base.Policy.Digest, InBand: base.InBand, StoppedBy: base.StoppedBy})
		}

		return base.Policy, err
	})
}
