package tiny

import (
	"context"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/policy/tinylm"
	"github.com/collabui/collabui/trainer"
)

// Probe samples one answer per prompt from the policy at temperature 1 and scores it under parent and base.
func (t *Trainer) Probe(ctx context.Context, policy, parent, base string, pairs []domain.Pair, seed uint64) (domain.Probe, error) {
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
		pr := tinylm.ParsePrompt(p.Prompt)
		outs, _ := pol.Sample(pr, tinylm.Sampling{N: 1, Temperature: 1, TopP: 1, Seed: domain.Seed(seed, "probe", i)})
		out.Length += float64(len(outs[0].Text)) / float64(len(pairs))
		if a, err := agents.ParseAnswer(outs[0].Text); err == nil {
			out.ParseRate += 1 / float64(len(pairs))
			out.Actions[a.Type]++
		}
		if c, err := pr.Parse(outs[0].Text); err == nil {
			sampled = append(sampled, tinylm.Example{Prompt: pr, Answers: []tinylm.Choice{c}})
		}
		if c, err := pr.Parse(p.Chosen); err == nil {
			chosen = append(chosen, tinylm.Example{Prompt: pr, Answers: []tinylm.Choice{c}})
		}
	}
	mean := func(m *tinylm.Model, ex []tinylm.Example) float64 {
		s := 0.0
		for _, lp := range m.LogProbs(ex, 1) {
			s += lp[0] / float64(len(ex))
		}
		return s
	}
	own := mean(models[0], sampled)
	out.KL, out.KLBase, out.Entropy = own-mean(models[1], sampled), own-mean(models[2], sampled), -own
	out.LogprobDelta = mean(models[0], chosen) - mean(models[1], chosen)
	return out, nil
}

var _ trainer.Prober = (*Trainer)(nil)
