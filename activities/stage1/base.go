package stage1

import (
	"context"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/internal/observe/events"
	"github.com/collabui/collabui/internal/records/runs"
)

// Adopt records the policy that the specification names, as chunk 0.
func (g *GPU) Adopt(ctx context.Context, run string) (runs.Chunk, error) {
	return activities.Do(ctx, g.Log.For(run), func(ctx context.Context, _ activities.Progress) (runs.Chunk, error) {
		chunk, _, err := runs.Run(run).Chunk(0).Record(ctx, g.Bucket, func() (runs.Chunk, error) {
			specification, err := g.Runs.Spec(ctx, run, 0)
			if err != nil {
				return runs.Chunk{}, err
			}
			adopter, err := g.Jobs.Trainer(specification)
			if err != nil {
				return runs.Chunk{}, err
			}
			adopted, err := adopter.Adopt(ctx, specification.FineTune.Base, specification.Trainer.Options)
			policy := runs.Policy{Digest: adopted.Digest, Tensor: adopted.TensorDigest}

			return runs.Chunk{Stage: "given", Policy: policy, Report: adopted.Report}, err
		})
		if err == nil {
			err = g.Jobs.Publish(ctx, run, chunk.Policy.Digest)
		}

		return chunk, err
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
func (c *Control) CommitBase(ctx context.Context, choice BaseChoice) (runs.Policy, error) {
	log := c.Log.For(choice.Run)

	return activities.Do(ctx, log, func(ctx context.Context, _ activities.Progress) (runs.Policy, error) {
		run := runs.Run(choice.Run)
		base, _, err := run.Base().Record(ctx, c.Bucket, func() (runs.Base, error) {
			specification, err := c.Runs.Spec(ctx, choice.Run, 0)
			if err != nil {
				return runs.Base{}, err
			}
			chunk, ref, err := run.Chunk(choice.Chunk).Must(ctx, c.Bucket)
			rate := choice.Curve[len(choice.Curve)-1].Rate

			return runs.Base{
				Policy: chunk.Policy, Chunk: ref, Curve: choice.Curve, StoppedBy: choice.Why,
				Unplayed: chunk.Unplayed,
				InBand:   rate >= specification.FineTune.StopLow && rate <= specification.FineTune.StopHigh,
			}, err
		})
		if err == nil {
			c.Emit.Send(choice.Run, events.Base{
				Policy: base.Policy.Digest, InBand: base.InBand, StoppedBy: base.StoppedBy,
			})
		}

		return base.Policy, err
	})
}
