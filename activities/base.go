package activities

import (
	"context"

	"github.com/collabui/collabui/internal/process/events"
	"github.com/collabui/collabui/internal/store/runs"
)

// Adopt takes the policy that the specification gives, as chunk 0.
func (g *GPU) Adopt(ctx context.Context, run string) (runs.Chunk, error) {
	_, stop := heartbeat(ctx)
	defer stop()
	c, _, err := runs.Run(run).Chunk(0).Record(ctx, g.Bucket, func() (runs.Chunk, error) {
		s, err := g.spec(ctx, run)
		if err != nil {
			return runs.Chunk{}, err
		}
		t, err := g.trainer(s)
		if err != nil {
			return runs.Chunk{}, err
		}
		p, err := t.Adopt(ctx, s.FineTune.Base, s.Trainer.Options)
		return runs.Chunk{Stage: "given", Policy: runs.Policy{Digest: p.Digest, Tensor: p.TensorDigest}, Report: p.Report}, err
	})
	if err == nil {
		err = g.publish(ctx, run, c.Policy.Digest)
	}
	return done(c, err)
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
	base, _, err := runs.Run(b.Run).Base().Record(ctx, c.Bucket, func() (runs.Base, error) {
		s, err := c.spec(ctx, b.Run)
		if err != nil {
			return runs.Base{}, err
		}
		chunk, ref, err := runs.Run(b.Run).Chunk(b.Chunk).Read(ctx, c.Bucket)
		rate := b.Curve[len(b.Curve)-1].Rate
		return runs.Base{Policy: chunk.Policy, Chunk: ref, Curve: b.Curve, InBand: rate >= s.FineTune.StopLow && rate <= s.FineTune.StopHigh, StoppedBy: b.Why}, err
	})
	if err != nil {
		return done(base.Policy, err)
	}
	c.emit(b.Run, events.Base{Policy: base.Policy.Digest, InBand: base.InBand, StoppedBy: base.StoppedBy})
	return done(base.Policy, err)
}
