package tiny

import (
	"context"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/policy/tinylm"
	"github.com/collabui/collabui/trainer"
)

var _ trainer.Prober = (*Trainer)(nil)

// Probe samples one answer per prompt from the policy at temperature 1, and scores it under parent and base.
func (t *Trainer) Probe(
	ctx context.Context, policy, parent, base string, pairs []domain.Pair, seed uint64,
) (domain.Probe, error) {
	var models [3]*tinylm.Model
	for i, d := range []string{policy, parent, base} {
		m, err := Load(ctx, t.Bucket, d)
		if err != nil {
			return domain.Probe{}, err
		}
		models[i] = m
	}

	pol := tinylm.NewPolicy(models[0])
	out := domain.Probe{Prompts: len(pairs), Actions: map[string]int{}}
	var sampled, chosen []tinylm.Example
	for i, p := range pairs {
		prompt := tinylm.ParsePrompt(p.Prompt)
		outs, _ := pol.Sample(prompt, tinylm.Sampling{
			N: 1, Temperature: 1, TopP: 1, Seed: domain.Seed(seed, "probe", i),
		})
		text := outs[0].Text

		out.Length += float64(len(text)) / float64(len(pairs))
		if a, err := agents.ParseAnswer(text); err == nil {
			out.ParseRate += 1 / float64(len(pairs))
			out.Actions[a.Type]++
		}
		if c, err := prompt.Parse(text); err == nil {
			sampled = append(sampled, tinylm.Example{Prompt: prompt, Answers: []tinylm.Choice{c}})
		}
		if c, err := prompt.Parse(p.Chosen); err == nil {
			chosen = append(chosen, tinylm.Example{Prompt: prompt, Answers: []tinylm.Choice{c}})
		}
	}

	own := meanLogProb(models[0], sampled)
	out.KL, out.KLBase = own-meanLogProb(models[1], sampled), own-meanLogProb(models[2], sampled)
	out.Entropy = -own
	out.LogprobDelta = meanLogProb(models[0], chosen) - meanLogProb(models[1], chosen)

	return out, nil
}

// meanLogProb returns the mean of log π over examples with one answer each.
func meanLogProb(m *tinylm.Model, examples []tinylm.Example) float64 {
	mean := 0.0
	for _, lp := range m.LogProbs(examples, 1) {
		mean += lp[0] / float64(len(examples))
	}

	return mean
}
