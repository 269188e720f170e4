package tiny

import (
	"context"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/preference"
	"github.com/collabui/collabui/internal/policy/tinylm"
	"github.com/collabui/collabui/trainer"
)

// defaultEvery is the default number of optimiser steps between checkpoints.
const defaultEvery = 50

// plan is the number of optimiser steps of a job.
type plan struct {
	batch   int // examples of a step
	perPass int // steps of a pass
	total   int // steps of the whole job
	end     int // the step at which this call ends
	every   int // steps between checkpoints
}

// planOf returns the plan of a job with n usable examples.
func planOf(job trainer.Job, n int) plan {
	p := plan{batch: min(job.Params.BatchSize, n), every: defaultEvery}
	p.perPass = n / p.batch
	p.total = p.perPass * job.Params.Passes
	if job.Steps > 0 {
		p.total = job.Steps
	}

	p.end = p.total
	if job.Until > 0 {
		p.end = min(p.end, job.Until)
	}
	if job.Every > 0 {
		p.every = job.Every
	}

	return p
}

// state is a job in progress.
type state struct {
	job      trainer.Job
	model    *tinylm.Model
	opt      tinylm.Adam
	step     int // optimiser steps done
	examples []tinylm.Example
	weights  []float64
	// reference holds the reference policy's log π of the answers of every example, for DPO and GRPO.
	reference [][]float64
	samples   []tinylm.Sample // one of every example, for GRPO
	out       trainer.Result
}

// prepare checks a job, and loads its policies and examples.
func (t *Trainer) prepare(ctx context.Context, job trainer.Job) (*state, error) {
	switch job.Objective {
	case trainer.SFT, trainer.DPO, trainer.GRPO:
	default:
		return nil, fault.New(fault.Invalid, "the embedded trainer supports sft, dpo and grpo, not %q", job.Objective)
	}
	if job.Params.BatchSize < 1 || job.Params.Passes < 1 || job.Params.LearningRate <= 0 {
		return nil, fault.New(fault.Invalid, "job %s: impossible parameters %+v", job.ID, job.Params)
	}

	s := &state{job: job}
	for _, pair := range job.Pairs {
		s.add(pair)
	}

	var err error
	if job.Start == "" {
		s.model = tinylm.New(tinylm.DefaultConfig, job.Seed)
	} else if s.model, err = Load(ctx, t.Bucket, job.Start); err != nil {
		return nil, err
	}
	if job.Objective != trainer.SFT {
		ref, err := Load(ctx, t.Bucket, job.Reference)
		if err != nil {
			return nil, err
		}
		s.reference = ref.LogProbs(s.examples, job.Workers)
	}
	if job.Objective == trainer.GRPO {
		for i, lp := range s.model.LogProbs(s.examples, job.Workers) {
			s.samples[i].Old = lp[0]
			s.samples[i].Ref = s.reference[i][0]
		}
	}

	return s, nil
}

// add adds a pair to the examples, or skips it if the policy cannot say one of its answers.
func (s *state) add(pair domain.Example) {
	texts := []string{pair.Chosen}
	right := s.job.Objective == trainer.DPO && s.job.Params.SFT > 0 && pair.Source == domain.SourceNone
	if s.job.Objective == trainer.DPO && !right {
		texts = append(texts, pair.Rejected)
	}

	prompt := tinylm.ParsePrompt(pair.Prompt)
	var answers []tinylm.Choice
	for _, x := range texts {
		choice, err := prompt.Parse(x)
		if err != nil {
			if right {
				s.out.SkippedRight++
			} else {
				s.out.Skipped++
			}

			return
		}
		answers = append(answers, choice)
	}
	s.examples = append(s.examples, tinylm.Example{Prompt: prompt, Answers: answers})
	s.weights = append(s.weights, pair.Weight)
	s.samples = append(s.samples, tinylm.Sample{Advantage: pair.Advantage, Weight: pair.Weight})
}

// optimise does one optimiser step on the picked examples.
func (s *state) optimise(tr *tinylm.Trainer, pick []int, rate float64) domain.TrainPoint {
	batch := make([]tinylm.Example, len(pick))
	weights := make([]float64, len(pick))
	for i, k := range pick {
		batch[i] = s.examples[k]
		weights[i] = s.weights[k]
	}
	switch s.job.Objective {
	case trainer.SFT:
		return domain.TrainPoint{Loss: tr.SFTStep(batch, weights, rate)}
	case trainer.GRPO:
		samples := make([]tinylm.Sample, len(pick))
		for i, k := range pick {
			samples[i] = s.samples[k]
		}
		rule := preference.Gradient{Clip: s.job.Params.Clip, KL: s.job.Params.KL}

		return domain.TrainPoint{Loss: tr.GRPOStep(batch, samples, rate, rule)}
	}

	ref := make([][]float64, len(pick))
	for i, k := range pick {
		ref[i] = s.reference[k]
	}
	st := tr.DPOStep(batch, ref, weights, rate, preference.RuleOf(s.job.Params))

	return domain.TrainPoint{Loss: st.Loss, Margin: st.Margin, Accuracy: st.Accuracy}
}
