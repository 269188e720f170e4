package update

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"github.com/collabui/collabui/activities/training"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/gates"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
)

// probers is the number of requests of a probe that are under way concurrently.
const probers = 8

// gate publishes the new policy, checks that it is served as it was trained, and probes it. If it breaches a gate, the
// parent is kept, with the reason.
func (g *GPU) gate(
	ctx context.Context, specification spec.Spec, id AgentID, update runs.Update, pairs []domain.Example, base string,
) (runs.Update, error) {
	probing := updateProbe{
		GPU: g, AgentID: id, spec: specification,
		policies: [3]string{update.Policy.Digest, update.Parent.Digest, base},
		seed:     domain.Seed(specification.Seed, "probe", id.Epoch, update.Agent),
	}
	sample := gates.ProbePairs(specification.Gates, pairs, probing.seed)
	var err error
	of := training.Published{Epoch: id.Epoch, Agent: id.Agent}
	update.Served, err = g.Jobs.PublishChecked(ctx, specification, of, update.Policy.Digest, update.Canaries)
	if err != nil {
		return update, err
	}
	probe, err := probing.probe(ctx, gates.TypeShares(pairs), sample)
	if err != nil {
		return update, err
	}

	update.Kept = gates.Update(specification.Gates, probe, sample)
	if update.Kept != "" {
		update.Policy = update.Parent
	}
	if gates.Finite(probe) {
		update.Probe = probe
	}

	return update, nil
}

// updateProbe probes the update of an agent.
type updateProbe struct {
	*GPU
	AgentID
	spec     spec.Spec
	policies [3]string // digests of the new policy, its parent and the base policy
	seed     uint64
}

// probe compares a new policy with its parent and the base policy by what the policy servers answer, in the same way
// for every trainer. If the servers cannot score answers, the probe contains the reason.
func (p updateProbe) probe(
	ctx context.Context, shares map[string]float64, pairs []domain.Example,
) (domain.Probe, error) {
	template, err := rules.Template(p.spec)
	if err != nil {
		return domain.Probe{}, err
	}
	probed, err := p.sample(ctx, template.System(), pairs)
	if err != nil {
		return domain.Probe{}, err
	}

	probed, err = p.score(ctx, template.System(), probed)
	unknown := ""
	switch {
	case errors.Is(err, chat.ErrNoScores):
		unknown = err.Error()
		p.Log.For(p.Run, "epoch", p.Epoch, "agent", p.Agent).
			Warn("the gates of log-probabilities are not checked", "reason", unknown)
	case err != nil:
		return domain.Probe{}, err
	}

	out := gates.Measure(probed, shares, rules.Reader(p.spec), unknown)
	out.Preference = gates.PreferenceShare(p.spec, probed)

	return out, nil
}

// sample gets one answer of the new policy to the prompt of every pair, at temperature 1. It leaves out pairs whose
// prompts are refused.
func (p updateProbe) sample(ctx context.Context, system string, pairs []domain.Example) ([]gates.Probed, error) {
	out := make([]gates.Probed, len(pairs))
	refused := make([]bool, len(pairs))
	requests, ctx := errgroup.WithContext(ctx)
	requests.SetLimit(probers)
	for i, pair := range pairs {
		requests.Go(func() error {
			response, err := p.Policies.Complete(ctx, chat.Request{
				Model: p.policies[0], System: system, User: pair.Prompt, Images: chat.Stored(pair.Image),
				Temperature: 1, TopP: 1,
				MaxTokens: p.spec.Decoding.MaxTokens, Seed: domain.Seed(p.seed, "answer", i), N: 1,
			})
			if fault.KindOf(err) == fault.Refused {
				refused[i] = true

				return nil
			}
			if err == nil {
				out[i] = gates.Probed{Pair: pair, Sampled: response.Texts[0]}
			}

			return err
		})
	}
	err := requests.Wait()

	return notRefused(out, refused), err
}

// notRefused returns the parts of a probe that no server refused.
func notRefused(probed []gates.Probed, refused []bool) []gates.Probed {
	var out []gates.Probed
	for i, part := range probed {
		if !refused[i] {
			out = append(out, part)
		}
	}

	return out
}

// score gets the scores of the answers of a probe under the new policy, its parent and the base policy, one policy
// after the other, because servers hold few policies at the same time. It leaves out what is refused.
func (p updateProbe) score(ctx context.Context, system string, probed []gates.Probed) ([]gates.Probed, error) {
	scores := map[string][][]chat.Score{} // by policy
	refused := make([]bool, len(probed))
	for _, policy := range p.policies {
		if scores[policy] != nil {
			continue
		}
		ofPolicy := make([][]chat.Score, len(probed))
		requests, ctx := errgroup.WithContext(ctx)
		requests.SetLimit(probers)
		for i, part := range probed {
			requests.Go(func() (err error) {
				ofPolicy[i], err = p.Scores.Score(ctx, chat.ScoreRequest{
					Model: policy, System: system, User: part.Pair.Prompt, Images: chat.Stored(part.Pair.Image),
					Answers: gates.ProbeAnswers(part.Pair, part.Sampled),
				})
				if fault.KindOf(err) == fault.Refused {
					refused[i] = true

					return nil
				}

				return err
			})
		}
		if err := requests.Wait(); err != nil {
			return probed, err
		}
		scores[policy] = ofPolicy
	}

	for i := range probed {
		part := &probed[i]
		part.Policy = scores[p.policies[0]][i]
		part.Parent = scores[p.policies[1]][i]
		part.Base = scores[p.policies[2]][i]
	}

	return notRefused(probed, refused), nil
}
