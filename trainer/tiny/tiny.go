// Package tiny is the embedded trainer: SFT and DPO of the small policy on the CPU. Checkpoints hold parameters, optimiser and data cursor, so that a
// resumed job ends with the bits of an unbroken one.
package tiny

import (
	"context"
	"encoding/binary"
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

// checkpointEvery is the number of optimiser steps between checkpoints.
const checkpointEvery = 50 // by default

// Trainer trains policies that stand in a bucket as blobs.
type Trainer struct {
	Bucket store.Bucket
	// CheckpointKey names the checkpoint of a job at a step.
	CheckpointKey func(job string, step int) string
}

// state is a job on its way.
type state struct {
	job   trainer.Job
	model *tinylm.Model
	opt   tinylm.Adam
	step  int // optimiser steps done
	ex    []tinylm.Example
	w     []float64
	ref   [][]float64
	out   trainer.Result
}

// checkpoint is a recorded state; State holds step, optimiser and parameters.
type checkpoint struct {
	Step  int                 `json:"step"`
	State store.Ref           `json:"state"`
	Curve []domain.TrainPoint `json:"curve"`
}

// Load reads a policy.
func Load(ctx context.Context, b store.Bucket, digest string) (*tinylm.Model, error) {
	raw, err := store.GetBlob(ctx, b, digest)
	if err != nil {
		return nil, err
	}
	m, err := tinylm.Decode(raw)
	return m, fault.As(fault.Corrupt, err)
}

// Train runs a job to its end, from its newest checkpoint if there is one.
func (t *Trainer) Train(ctx context.Context, j trainer.Job, p trainer.Progress) (trainer.Result, error) {
	s, err := t.prepare(ctx, j)
	if err != nil {
		return trainer.Result{}, err
	}
	if len(s.ex) == 0 {
		s.out.Diverged = "no usable pair"
		return s.out, nil
	}
	batch := min(j.Params.BatchSize, len(s.ex))
	perPass := len(s.ex) / batch
	total := perPass * j.Params.Passes
	if j.Steps > 0 {
		total = j.Steps
	}
	end, every := total, checkpointEvery
	if j.Until > 0 {
		end = min(end, j.Until)
	}
	if j.Every > 0 {
		every = j.Every
	}
	if err := t.resume(ctx, s, end, every); err != nil {
		return trainer.Result{}, err
	}
	tr := &tinylm.Trainer{M: s.model, Opt: s.opt, Workers: j.Workers}
	tr.Opt.WeightDecay = j.Params.WeightDecay
	for s.step < end {
		if err := ctx.Err(); err != nil {
			return trainer.Result{}, err
		}
		pass, at := s.step/perPass, s.step%perPass
		perm := domain.Rand(j.Seed, "pass", pass).Perm(len(s.ex))
		pt := s.optimise(tr, perm[at*batch:(at+1)*batch], Rate(j.Params, s.step, total))
		s.step++
		pt.Step, pt.Steps = s.step, total
		if math.IsNaN(pt.Loss+pt.Margin) || math.IsInf(pt.Loss+pt.Margin, 0) {
			s.out.Diverged = fmt.Sprintf("the loss is not a number at step %d", s.step)
			return s.out, nil
		}
		s.out.Curve = append(s.out.Curve, pt)
		p(pt)
		if s.step%every == 0 && s.step < total {
			s.opt = tr.Opt
			if err := t.save(ctx, s); err != nil {
				return trainer.Result{}, err
			}
		}
	}
	ref, err := store.PutBlob(ctx, t.Bucket, s.model.Encode())
	if err != nil {
		return trainer.Result{}, err
	}
	s.out.Digest, s.out.TensorDigest, s.out.Steps = ref.SHA256, s.model.TensorDigest(), s.step
	return s.out, nil
}

// Adopt reads a policy of somebody's own.
func (t *Trainer) Adopt(ctx context.Context, digest string, _ json.RawMessage) (trainer.Result, error) {
	m, err := Load(ctx, t.Bucket, digest)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return trainer.Result{}, fault.New(fault.Invalid, "no policy %s stands in the store; bring one with `collabui import FILE`", digest)
	case err != nil:
		return trainer.Result{}, fault.New(fault.Invalid, "%s is no policy of the embedded trainer: %w", digest, err)
	}
	return trainer.Result{Digest: digest, TensorDigest: m.TensorDigest()}, nil
}

// Rate is the learning rate of a step: linear warm-up, then a cosine down to FinalShare of the peak.
func Rate(p domain.TrainParams, step, total int) float64 {
	warm := p.Warmup * float64(total)
	if x := float64(step + 1); x < warm {
		return p.LearningRate * x / warm
	}
	done := (float64(step) - warm) / math.Max(1, float64(total)-warm)
	return p.LearningRate * (p.FinalShare + (1-p.FinalShare)*0.5*(1+math.Cos(math.Pi*done)))
}

func (t *Trainer) prepare(ctx context.Context, j trainer.Job) (*state, error) {
	s := &state{job: j}
	if j.Objective != trainer.SFT && j.Objective != trainer.DPO {
		return nil, fault.New(fault.Invalid, "the embedded trainer knows sft and dpo, not %q", j.Objective)
	}
	if j.Params.BatchSize < 1 || j.Params.Passes < 1 || j.Params.LearningRate <= 0 {
		return nil, fault.New(fault.Invalid, "job %s: impossible parameters %+v", j.ID, j.Params)
	}
	for _, p := range j.Pairs {
		pr := tinylm.ParsePrompt(p.Prompt)
		texts := []string{p.Chosen}
		if j.Objective == trainer.DPO {
			texts = append(texts, p.Rejected)
		}
		var answers []tinylm.Choice
		for _, x := range texts {
			if c, err := pr.Parse(x); err == nil {
				answers = append(answers, c)
			}
		}
		if len(answers) < len(texts) {
			s.out.Skipped++
			continue
		}
		s.ex, s.w = append(s.ex, tinylm.Example{Prompt: pr, Answers: answers}), append(s.w, p.Weight)
	}
	var err error
	if j.Start == "" {
		s.model = tinylm.New(tinylm.DefaultConfig, j.Seed)
	} else if s.model, err = Load(ctx, t.Bucket, j.Start); err != nil {
		return nil, err
	}
	if j.Objective == trainer.DPO {
		ref, err := Load(ctx, t.Bucket, j.Reference)
		if err != nil {
			return nil, err
		}
		s.ref = ref.LogProbs(s.ex, j.Workers)
	}
	return s, nil
}

func (s *state) optimise(tr *tinylm.Trainer, pick []int, lr float64) domain.TrainPoint {
	batch := make([]tinylm.Example, len(pick))
	for i, k := range pick {
		batch[i] = s.ex[k]
	}
	w := make([]float64, len(pick))
	for i, k := range pick {
		w[i] = s.w[k]
	}
	if s.job.Objective == trainer.SFT {
		return domain.TrainPoint{Loss: tr.SFTStep(batch, w, lr)}
	}
	ref := make([][]float64, len(pick))
	for i, k := range pick {
		ref[i] = s.ref[k]
	}
	st := tr.DPOStep(batch, ref, w, lr, tinylm.DPO{Beta: s.job.Params.Beta, Ftx: s.job.Params.Ftx})
	return domain.TrainPoint{Loss: st.Loss, Margin: st.Margin, Accuracy: st.Accuracy}
}

func (t *Trainer) save(ctx context.Context, s *state) error {
	if t.CheckpointKey == nil {
		return nil
	}
	model := s.model.Encode()
	raw := binary.LittleEndian.AppendUint64(nil, uint64(len(model)))
	ref, err := store.PutBlob(ctx, t.Bucket, append(append(raw, model...), s.opt.Encode()...))
	if err != nil {
		return err
	}
	_, _, err = store.RecordOnce(ctx, t.Bucket, t.CheckpointKey(s.job.ID, s.step), func() (checkpoint, error) {
		return checkpoint{s.step, ref, s.out.Curve}, nil
	})
	return err
}

// resume puts the newest complete checkpoint into s.
func (t *Trainer) resume(ctx context.Context, s *state, end, every int) error {
	if t.CheckpointKey == nil {
		return nil
	}
	for step := end / every * every; step > 0; step -= every {
		c, _, err := store.Read[checkpoint](ctx, t.Bucket, t.CheckpointKey(s.job.ID, step))
		if err != nil {
			continue // not written, or not whole: an earlier one serves as well
		}
		raw, err := store.GetBlob(ctx, t.Bucket, c.State.SHA256)
		if err != nil || len(raw) < 8 {
			continue
		}
		n := binary.LittleEndian.Uint64(raw)
		m, err := tinylm.Decode(raw[8 : 8+n])
		if err != nil {
			return fault.New(fault.Corrupt, "checkpoint %s: %w", c.State.Key, err)
		}
		opt, err := tinylm.DecodeAdam(raw[8+n:], len(m.Flat))
		if err != nil {
			return fault.New(fault.Corrupt, "checkpoint %s: %w", c.State.Key, err)
		}
		s.model, s.opt, s.step, s.out.Curve = m, opt, c.Step, c.Curve
		return nil
	}
	return nil
}

var _ trainer.Trainer = (*Trainer)(nil)
