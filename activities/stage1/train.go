package stage1

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/activities/training"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/credit"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/method/synth"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/trainer"
)

// GPU trains stage 1.
type GPU struct {
	activities.Common
	Jobs *training.Jobs
}

// ChunkID names a piece of stage 1's training, from 1.
type ChunkID struct {
	Run   string
	Chunk int
}

// Trained is a chunk, and the time of an optimiser step of it.
type Trained struct {
	runs.Chunk
	StepSeconds float64 `json:",omitempty"` // if this attempt made the steps
}

// TrainChunk continues stage 1. Without levels, it makes one more chunk of optimiser steps on the demonstrations:
// chunks are parts of one job, each resumed from the one before. With levels, it does one level job, which starts from
// the policy of the job before.
func (g *GPU) TrainChunk(ctx context.Context, id ChunkID) (Trained, error) {
	log := g.Log.For(id.Run, "chunk", id.Chunk)

	return activities.Do(ctx, log, func(ctx context.Context, progress activities.Progress) (Trained, error) {
		writer, err := g.Runs.Writer(ctx, id.Run)
		if err != nil {
			return Trained{}, err
		}
		var pace training.Pace
		recorded := runs.Run(id.Run).Chunk(id.Chunk)
		chunk, _, err := recorded.Record(ctx, g.Bucket, func() (runs.Chunk, error) {
			chunk, err := g.chunk(ctx, id, progress, &pace)
			chunk.By = writer.By

			return chunk, err
		})
		if err := writer.Check(recorded.Key, chunk.By, err); err != nil {
			return Trained{}, err
		}
		specification, err := g.Runs.Spec(ctx, id.Run, 0)
		if err != nil {
			return Trained{}, err
		}
		_, err = g.Jobs.PublishChecked(ctx, specification, training.Published{}, chunk.Policy.Digest, chunk.Canaries)
		chunk.Canaries = nil // too long for a history

		return Trained{Chunk: chunk, StepSeconds: pace.PerStep()}, err
	})
}

func (g *GPU) chunk(
	ctx context.Context, id ChunkID, progress activities.Progress, pace *training.Pace,
) (runs.Chunk, error) {
	specification, err := g.Runs.Spec(ctx, id.Run, 0)
	if err != nil {
		return runs.Chunk{}, err
	}
	if err := g.Runs.CheckVersions(ctx, specification, 0, nil); err != nil {
		return runs.Chunk{}, err
	}

	out := runs.Chunk{Number: id.Chunk}
	var job trainer.Job
	var data *training.Data // of chunks that share a job
	switch {
	case len(specification.FineTune.Levels) > 0:
		job, err = g.levelJob(ctx, specification, id, specification.FineTune.LevelJobs()[id.Chunk-1], &out)
	case specification.Speech:
		job, err = g.speechJob(ctx, specification, id, &out)
	default:
		job, data, err = g.demonstrationsJob(ctx, specification, id)
	}
	if err != nil {
		return out, err
	}

	job.Skip, err = g.Jobs.Skip(ctx, specification, 0)
	if err != nil {
		return out, err
	}
	got, err := g.Jobs.Train(ctx, specification, job, progress, pace)
	if err != nil {
		return out, err
	}
	if got.Diverged != "" {
		return out, fault.New(fault.Fatal, "stage 1 diverged: %s", got.Diverged)
	}

	if data != nil {
		out.Unplayed = data.Unplayed
		g.Jobs.Data.Store(&training.Data{Pairs: data.Pairs, Unplayed: data.Unplayed, Policy: got.Digest})
	}
	out.Steps += got.Steps
	out.Skipped = got.Skipped
	out.Policy = runs.Policy{Digest: got.Digest, Tensor: got.TensorDigest}
	out.Report = got.Report
	if specification.Serving.Canaries > 0 {
		progress("the trainer scores canaries")
		out.Canaries, _, err = g.Jobs.Canaries(ctx, specification, training.Trained{
			Policy: got.Digest, System: job.System, Pairs: job.Pairs,
			Seed: domain.Seed(specification.Seed, "canaries", "stage 1", id.Chunk),
		})
		if err != nil {
			return out, err
		}
	}
	if n := len(got.Curve); n > 0 {
		out.Loss = got.Curve[n-1].Loss
	}

	return out, nil
}

// demonstrationsJob returns the job of the chunks, up to the end of one of them, and its data.
func (g *GPU) demonstrationsJob(ctx context.Context, given spec.Spec, id ChunkID) (trainer.Job, *training.Data, error) {
	data, err := g.demonstrations(ctx, given, id)
	if err != nil {
		return trainer.Job{}, data, err
	}
	if len(data.Pairs) == 0 {
		return trainer.Job{}, data, errUnplayed()
	}

	return trainer.Job{
		ID: runs.Run(id.Run).FineTuneJob(), Objective: trainer.SFT, Pairs: data.Pairs, Params: given.FineTune.Train,
		Seed:  domain.Seed(given.Seed, "finetune"),
		Until: id.Chunk * given.FineTune.ChunkSteps, Every: given.FineTune.ChunkSteps,
	}, data, nil
}

// speechJob returns the job of a chunk with speech. Each chunk has demonstrations of its own, in which agents hear the
// policy of the chunk before, so its job starts from that policy and trains on all demonstrations until then.
func (g *GPU) speechJob(ctx context.Context, given spec.Spec, id ChunkID, out *runs.Chunk) (trainer.Job, error) {
	start, steps, err := policyBefore(ctx, g.Bucket, given, id)
	if err != nil {
		return trainer.Job{}, err
	}
	data, err := g.readDemonstrations(ctx, id.Run, id.Chunk*given.FineTune.Demonstrations)
	if err != nil {
		return trainer.Job{}, err
	}
	if len(data.Pairs) == 0 {
		return trainer.Job{}, errUnplayed()
	}
	out.Steps = steps
	out.Unplayed = data.Unplayed

	return trainer.Job{
		ID: runs.Run(id.Run).StageJob(id.Chunk), Start: start, Objective: trainer.SFT, Pairs: data.Pairs,
		Params: given.FineTune.Train, Seed: domain.Seed(given.Seed, "finetune", id.Chunk),
		Steps: given.FineTune.ChunkSteps,
	}, nil
}

// errUnplayed returns the error of a stage 1 without data.
func errUnplayed() error {
	return fault.New(fault.Invalid,
		"no training task of stage 1 could be played: mend the environment, and train a run with another name")
}

// demonstrations reads the demonstrations of a run, unless this process has trained the chunk before on them.
func (g *GPU) demonstrations(ctx context.Context, specification spec.Spec, id ChunkID) (*training.Data, error) {
	before, _, err := policyBefore(ctx, g.Bucket, specification, id)
	if err != nil {
		return nil, err
	}
	if data := g.Jobs.Data.Load(); data != nil && id.Chunk > 1 && data.Policy == before {
		return data, nil
	}

	return g.readDemonstrations(ctx, id.Run, specification.FineTune.Demonstrations)
}

// readDemonstrations reads the first n demonstrations of a run.
func (g *GPU) readDemonstrations(ctx context.Context, run string, n int) (*training.Data, error) {
	demonstrations := make([]runs.Demonstration, n)
	reads, readCtx := errgroup.WithContext(ctx)
	reads.SetLimit(activities.ParallelReads)
	for i := range demonstrations {
		reads.Go(func() (err error) {
			demonstrations[i], _, err = runs.Run(run).Demonstration(i).Must(readCtx, g.Bucket)

			return err
		})
	}
	if err := reads.Wait(); err != nil {
		return nil, err
	}

	data := &training.Data{}
	for _, demonstration := range demonstrations {
		data.Pairs = append(data.Pairs, demonstration.Pairs...)
		if demonstration.Failed != "" {
			data.Unplayed++
		}
	}
	credit.BalanceActions(data.Pairs)

	return data, nil
}

// levelJob returns the training job of a level.
func (g *GPU) levelJob(
	ctx context.Context, given spec.Spec, id ChunkID, level spec.LevelJob, out *runs.Chunk,
) (trainer.Job, error) {
	start, stepsBefore, err := policyBefore(ctx, g.Bucket, given, id)
	if err != nil {
		return trainer.Job{}, err
	}
	set, ref, err := runs.Run(id.Run).Level(level.Level).Must(ctx, g.Bucket)
	if err != nil {
		return trainer.Job{}, err
	}
	pairs, err := runs.ReadPairs(ctx, g.Bucket, set.Body)
	if err != nil {
		return trainer.Job{}, err
	}
	template, err := rules.Template(given)
	if err != nil {
		return trainer.Job{}, err
	}

	out.Stage = level.Name()
	out.Level = &ref
	out.Steps = stepsBefore
	out.Unplayed = set.Card.Counts.Unplayed
	job := trainer.Job{
		ID: runs.Run(id.Run).StageJob(id.Chunk), Start: start, Objective: trainer.SFT, Params: given.FineTune.Train,
		Seed: domain.Seed(given.Seed, "finetune", id.Chunk), Steps: level.Steps,
	}
	if level.Preference {
		job.Objective = trainer.DPO
		job.Reference = start
		job.Params = given.FineTune.Preference
		pairs = slices.DeleteFunc(pairs, func(example domain.Example) bool { return example.Rejected == "" })
		rules.Weigh(given, pairs, true)
	} else {
		credit.BalanceActions(pairs)
	}
	if len(pairs) == 0 {
		return job, fault.New(fault.Invalid,
			"stage 1, %s: the data set of level %d is empty; its card states why: `collabui show %s stage-1`",
			level.Name(), level.Level, id.Run)
	}
	job.Pairs = pairs
	job.System = synth.SystemOf(pairs, template.System())

	return job, nil
}

// policyBefore returns the policy that a level job starts from, and the optimiser steps made before it. An empty policy
// is a new one, or the base model of a trainer of language models.
func policyBefore(
	ctx context.Context, bucket store.Bucket, specification spec.Spec, id ChunkID,
) (policy string, steps int, err error) {
	if id.Chunk == 1 && specification.FineTune.Base == domain.UntrainedBase {
		return "", 0, nil
	}
	if id.Chunk == 1 {
		return specification.FineTune.Base, 0, nil
	}
	previous, _, err := runs.Run(id.Run).Chunk(id.Chunk-1).Must(ctx, bucket)

	return previous.Policy.Digest, previous.Steps, err
}
