package tinylm

import "github.com/collabui/collabui/internal/method/preference"

// DPOStats are means over a batch before its step.
type DPOStats struct {
	Loss     float64
	Margin   float64 // β·(Δ⁺ − Δ⁻)
	Accuracy float64 // share of positive margins
}

// DPOStep makes a step of preference optimisation. ref[i] holds log π_ref of the two answers of batch[i]; weight[i]
// scales its loss, 1 for a plain mean.
func (t *Trainer) DPOStep(batch []Example, ref [][]float64, weight []float64, lr float64, r preference.Rule) DPOStats {
	per := make([]DPOStats, len(batch))
	loss := t.step(batch, lr, func(i int, lp []float64) (float64, []float64) {
		chosen := batch[i].Answers[0]
		rejected := batch[i].Answers[1]
		tokens := preference.Answers{float64(chosen.Made()), float64(rejected.Made())}
		l, margin, d := r.Pair(preference.Answers(lp), preference.Answers(ref[i]), tokens)
		per[i].Margin = margin
		if margin > 0 {
			per[i].Accuracy = 1
		}

		w := weight[i]
		sft := r.SFT(tokens[0])

		return w * (l - sft*lp[0]), []float64{w * (d[0] - sft), w * d[1]}
	})

	s := DPOStats{Loss: loss}
	n := float64(len(batch))
	for _, p := range per {
		s.Margin += p.Margin / n
		s.Accuracy += p.Accuracy / n
	}

	return s
}

// Sample is what GRPO knows of the only answer of an example.
type Sample struct {
	Old, Ref  float64 // log π before the update and log π_ref
	Advantage float64
	Weight    float64 // scales the loss, 1 for a plain mean
}

// GRPOStep makes a step of GRPO and returns the mean loss before it.
func (t *Trainer) GRPOStep(batch []Example, samples []Sample, lr float64, g preference.Gradient) float64 {
	return t.step(batch, lr, func(i int, lp []float64) (float64, []float64) {
		s := samples[i]
		l, d := g.Sample(lp[0], s.Old, s.Ref, s.Advantage)

		return s.Weight * l, []float64{s.Weight * d}
	})
}
