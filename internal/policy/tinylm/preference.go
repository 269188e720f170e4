package tinylm

import "github.com/collabui/collabui/internal/method/preference"

// DPOStats holds means over a batch, computed before its step: Loss over all examples, the others over the pairs.
type DPOStats struct {
	Loss     float64
	Margin   float64 // β·(Δ⁺ − Δ⁻)
	Accuracy float64 // share of positive margins, from 0 to 1
}

// DPOStep makes a step of preference optimisation. ref[i] holds log π_ref, in nats, of the two answers of batch[i].
// weight[i] scales its loss; with weights of 1, the loss is a plain mean. An example with one answer is no pair: its
// loss is −Right·log π(y|x).
func (t *Trainer) DPOStep(batch []Example, ref [][]float64, weight []float64, lr float64, r preference.Rule) DPOStats {
	per := make([]DPOStats, len(batch))
	loss := t.step(batch, lr, func(i int, lp []float64) (float64, []float64) {
		if len(batch[i].Answers) == 1 {
			w := weight[i] * r.Right

			return -w * lp[0], []float64{-w}
		}
		chosen := batch[i].Answers[0]
		rejected := batch[i].Answers[1]
		tokens := preference.Answers{float64(chosen.Made()), float64(rejected.Made())}
		l, margin, answers := r.Pair(preference.Answers(lp), preference.Answers(ref[i]), tokens)
		per[i].Margin = margin
		if margin > 0 {
			per[i].Accuracy = 1
		}

		w := weight[i]
		sft := r.SFT(tokens[0])

		return w * (l - sft*lp[0]), []float64{w * (answers[0] - sft), w * answers[1]}
	})

	dpoStats := DPOStats{Loss: loss}
	count := 0.0
	for _, example := range batch {
		if len(example.Answers) > 1 {
			count++
		}
	}
	for i, stats := range per {
		if len(batch[i].Answers) > 1 {
			dpoStats.Margin += stats.Margin / count
			dpoStats.Accuracy += stats.Accuracy / count
		}
	}

	return dpoStats
}

// Sample holds the data of GRPO about the only answer of an example.
type Sample struct {
	Old, Ref  float64 // log π before the update and log π_ref, in nats
	Advantage float64
	Weight    float64 // scales the loss; 1 for a plain mean
}

// GRPOStep makes a step of GRPO and returns the mean loss before the step.
func (t *Trainer) GRPOStep(batch []Example, samples []Sample, lr float64, gradient preference.Gradient) float64 {
	return t.step(batch, lr, func(i int, lp []float64) (float64, []float64) {
		sample := samples[i]
		l, d := gradient.Sample(lp[0], sample.Old, sample.Ref, sample.Advantage)

		return sample.Weight * l, []float64{sample.Weight * d}
	})
}
