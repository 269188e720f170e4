package activities

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
)

// probers is the number of requests of a probe that are under way concurrently.
const probers = 8

// gate probes the new policy. A breach keeps the parent and says why.
func (g *GPU) gate(
	ctx context.Context, s spec.Spec, id AgentID, u runs.Update, pairs []domain.Example, base string,
) (runs.Update, error) {
	seed := domain.Seed(s.Seed, "probe", id.Epoch, u.Agent)
	sample := rules.ProbePairs(s.Gates, pairs, seed)
	p, err := g.probe(ctx, s, id, u, base, rules.TypeShares(pairs), sample, seed)
	if err != nil {
		return u, err
	}

	if u.Kept = rules.UpdateGate(s.Gates, p, sample); u.Kept != "" {
		u.Policy = u.Parent
	}
	if rules.Finite(p) {
		u.Probe = p
	}

	return u, nil
}

// probe compares a new policy with its parent and the base policy by what the policy servers answer, in the same way
// for every trainer. If the servers cannot score answers, the probe says why.
func (g *GPU) probe(
	ctx context.Context, s spec.Spec, id AgentID, u runs.Update, base string, shares map[string]float64,
	pairs []domain.Example, seed uint64,
) (domain.Probe, error) {
	template, err := rules.Template(s)
	if err != nil {
		return domain.Probe{}, err
	}
	if err := g.Load(ctx, u.Policy.Digest, s.Serving.Quorum); err != nil {
		return domain.Probe{}, err
	}
	probed, err := g.sample(ctx, s, u.Policy.Digest, template.System(), pairs, seed)
	if err != nil {
		return domain.Probe{}, err
	}

	probed, err = g.score(ctx, [3]string{u.Policy.Digest, u.Parent.Digest, base}, template.System(), probed)
	unknown := ""
	switch {
	case errors.Is(err, chat.ErrNoScores):
		unknown = err.Error()
		g.log(id.Run, "epoch", id.Epoch, "agent", id.Agent).
			Warn("the gates of log-probabilities are not checked", "reason", unknown)
	case err != nil:
		return domain.Probe{}, err
	}

	out := rules.Measure(probed, shares, s.Answers, unknown)
	out.Preference = rules.PreferenceShare(s, probed)

	return out, nil
}

// sample asks a policy for one answer to the prompt of every pair, at temperature 1. It leaves out pairs whose prompts
// are refused.
func (g *GPU) sample(
	ctx context.Context, s spec.Spec, policy, system string, pairs []domain.Example, seed uint64,
) ([]rules.Probed, error) {
	out, refused := make([]rules.Probed, len(pairs)), make([]bool, len(pairs))
	asks, ctx := errgroup.WithContext(ctx)
	asks.SetLimit(probers)
	for i, p := range pairs {
		asks.Go(func() error {
			r, err := g.Policies.Complete(ctx, chat.Request{
				Model: policy, System: system, User: p.Prompt, Temperature: 1, TopP: 1,
				MaxTokens: s.Decoding.MaxTokens, Seed: domain.Seed(seed, "answer", i), N: 1,
			})
			if refused[i] = fault.KindOf(err) == fault.Refused; refused[i] {
				return nil
			}
			if err == nil {
				out[i] = rules.Probed{Pair: p, Sampled: r.Texts[0]}
			}

			return err
		})
	}

	err := asks.Wait()

	return heard(out, refused), err
}

// heard returns the parts of a probe that no server refused.
func heard(probed []rules.Probed, refused []bool) []rules.Probed {
	var out []rules.Probed
	for i, p := range probed {
		if !refused[i] {
			out = append(out, p)
		}
	}

	return out
}

// score asks for the scores of the answers of a probe under the new policy, its parent and the base policy. It asks one
// policy after the other, because servers hold few policies at the same time. It leaves out what is refused.
func (g *GPU) score(
	ctx context.Context, policies [3]string, system string, probed []rules.Probed,
) ([]rules.Probed, error) {
	known, refused := map[string][][]chat.Score{}, make([]bool, len(probed))
	for _, policy := range policies {
		if known[policy] != nil {
			continue
		}
		scores := make([][]chat.Score, len(probed))
		asks, ctx := errgroup.WithContext(ctx)
		asks.SetLimit(probers)
		for i, p := range probed {
			asks.Go(func() (err error) {
				scores[i], err = g.Scores.Score(ctx, chat.ScoreRequest{
					Model: policy, System: system, User: p.Pair.Prompt,
					Answers: rules.ProbeAnswers(p.Pair, p.Sampled),
				})
				if fault.KindOf(err) == fault.Refused {
					refused[i] = true

					return nil
				}

				return err
			})
		}
		if err := asks.Wait(); err != nil {
			return probed, err
		}
		known[policy] = scores
	}

	for i := range probed {
		p := &probed[i]
		p.Policy, p.Parent, p.Base = known[policies[0]][i], known[policies[1]][i], known[policies[2]][i]
	}

	return heard(probed, refused), nil
}
