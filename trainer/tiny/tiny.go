// Package tiny is the embedded trainer: SFT, DPO and GRPO of the small policy on the CPU. Checkpoints hold parameters,
// optimiser and position, so a resumed job ends with the same bits as an uninterrupted one.
package tiny

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/policy/tinylm"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/trainer"
)

// Trainer trains policies that are blobs of a bucket.
type Trainer struct {
	Bucket store.Bucket
	// CheckpointKey returns the key of a job's checkpoint at a step. With nil there are no checkpoints.
	CheckpointKey func(job string, step int) string
}

var _ trainer.Trainer = (*Trainer)(nil)

// Load reads a policy.
func Load(ctx context.Context, bucket store.Bucket, digest string) (*tinylm.Model, error) {
	raw, err := store.GetBlob(ctx, bucket, digest)
	if err != nil {
		return nil, err
	}
	model, err := tinylm.Decode(raw)

	return model, fault.As(fault.Corrupt, err)
}

// Train runs a job to its end, from its newest checkpoint if there is one.
func (t *Trainer) Train(ctx context.Context, job trainer.Job, progress trainer.Progress) (trainer.Result, error) {
	state, err := t.prepare(ctx, job)
	if err != nil {
		return trainer.Result{}, err
	}
	if len(state.examples) == 0 {
		state.out.Diverged = "no usable pair"

		return state.out, nil
	}

	plan := planOf(job, len(state.examples))
	if err := t.resume(ctx, state, plan); err != nil {
		return trainer.Result{}, err
	}
	if err := t.steps(ctx, state, plan, progress); err != nil {
		return trainer.Result{}, err
	}
	if state.out.Diverged != "" {
		return state.out, nil
	}

	if !state.model.Finite() {
		state.out.Diverged = "the parameters are not numbers"

		return state.out, nil
	}
	ref, err := store.PutBlob(ctx, t.Bucket, state.model.Encode())
	if err != nil {
		return trainer.Result{}, err
	}
	state.out.Digest = ref.SHA256
	state.out.TensorDigest = state.model.TensorDigest()
	state.out.Steps = state.step

	return state.out, nil
}

// steps runs the optimiser up to the plan's end, or until the loss is not a number.
func (t *Trainer) steps(ctx context.Context, s *state, plan plan, progress trainer.Progress) error {
	tr := &tinylm.Trainer{M: s.model, Opt: s.opt, Workers: s.job.Workers}
	tr.Opt.WeightDecay = s.job.Params.WeightDecay

	for s.step < plan.end {
		if err := ctx.Err(); err != nil {
			return err
		}

		pass := s.step / plan.perPass
		at := s.step % plan.perPass
		perm := domain.Rand(s.job.Seed, "pass", pass).Perm(len(s.examples))
		pick := perm[at*plan.batch : (at+1)*plan.batch]
		pt := s.optimise(tr, pick, Rate(s.job.Params, s.step, plan.total))
		s.step++
		pt.Step = s.step
		pt.Steps = plan.total
		if math.IsNaN(pt.Loss+pt.Margin) || math.IsInf(pt.Loss+pt.Margin, 0) {
			s.out.Diverged = fmt.Sprintf("the loss is not a number at step %d", s.step)

			return nil
		}

		s.out.Curve = append(s.out.Curve, pt)
		progress(pt)
		if s.step%plan.every == 0 && s.step < plan.total {
			s.opt = tr.Opt
			if err := t.save(ctx, s); err != nil {
				return err
			}
		}
	}

	return nil
}

// Adopt reads a policy that was imported.
func (t *Trainer) Adopt(ctx context.Context, digest string, _ json.RawMessage) (trainer.Result, error) {
	model, err := Load(ctx, t.Bucket, digest)
	switch {
	case errors.Is(err, store.ErrAbsent):
		return trainer.Result{}, fmt.Errorf(
			"if `collabui import FILE` was never called with policy %s, do so: %w", digest, err)
	case fault.KindOf(err) == fault.Corrupt:
		return trainer.Result{}, fault.New(fault.Invalid, "%s is not a policy of the embedded trainer: %w", digest, err)
	case err != nil:
		return trainer.Result{}, err
	}

	return trainer.Result{Digest: digest, TensorDigest: model.TensorDigest()}, nil
}

// Rate returns the learning rate of a step: linear warm-up, then a cosine down to FinalShare of the peak.
func Rate(params domain.TrainParams, step, total int) float64 {
	warm := params.Warmup * float64(total)
	if x := float64(step + 1); x < warm {
		return params.LearningRate * x / warm
	}
	done := (float64(step) - warm) / math.Max(1, float64(total)-warm)

	return params.LearningRate * (params.FinalShare + (1-params.FinalShare)*0.5*(1+math.Cos(math.Pi*done)))
}
