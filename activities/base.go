package activities

import (
	"context"

	"github.com/collabui/collabui/internal/record"
	"github.com/collabui/collabui/internal/store"
)

// Adopt takes the policy that the specification gives, as chunk 0.
func (g *GPU) Adopt(ctx context.Context, run string) (record.Chunk, error) {
	_, stop := heartbeat(ctx)
	defer stop()
	c, _, err := store.RecordOnce(ctx, g.Bucket, store.FineTuneKey(run, "chunks", 0), func() (record.Chunk, error) {
		s, err := g.spec(ctx, run)
		if err != nil {
			return record.Chunk{}, err
		}
		t, err := g.trainer(s)
		if err != nil {
			return record.Chunk{}, err
		}
		p, err := t.Adopt(ctx, s.FineTune.Base, s.Trainer.Options)
		return record.Chunk{Stage: "given", Policy: record.Policy{Digest: p.Digest, Tensor: p.TensorDigest}, Report: p.Report}, err
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
	Curve []record.EvalPoint
}

// CommitBase writes base.json.
func (c *Control) CommitBase(ctx context.Context, b BaseChoice) (record.Policy, error) {
	base, _, err := store.RecordOnce(ctx, c.Bucket, store.BaseKey(b.Run), func() (record.Base, error) {
		s, err := c.spec(ctx, b.Run)
		if err != nil {
			return record.Base{}, err
		}
		chunk, ref, err := store.Read[record.Chunk](ctx, c.Bucket, store.FineTuneKey(b.Run, "chunks", b.Chunk))
		rate := b.Curve[len(b.Curve)-1].Rate
		return record.Base{Policy: chunk.Policy, Chunk: ref, Curve: b.Curve, InBand: rate >= s.FineTune.StopLow && rate <= s.FineTune.StopHigh, StoppedBy: b.Why}, err
	})
	if err != nil {
		return done(base.Policy, err)
	}
	c.emit(b.Run, map[string]any{"event": "base", "policy": base.Policy.Digest, "in_band": base.InBand, "stopped_by": base.StoppedBy})
	return done(base.Policy, err)
}
