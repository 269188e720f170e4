package gates

import (
	"math"
	"slices"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/preference"
	"github.com/collabui/collabui/internal/method/spec"
)

// Probed holds the measurements of a probe on one pair: an answer sampled from the updated policy at temperature 1, and
// the scores of the sampled, the chosen and the rejected answer, in this order, under each policy. The scores are nil
// if they are unknown. A pair without a rejected answer has two scores.
type Probed struct {
	Pair                 domain.Example
	Sampled              string
	Policy, Parent, Base []chat.Score
}

// Indices of the answers in the scores of a pair.
const (
	atSampled = iota
	atChosen
	atRejected
)

// ProbeAnswers returns the answers of a pair that are scored.
func ProbeAnswers(pair domain.Example, sampled string) []string {
	answers := []string{sampled, pair.Chosen}
	if pair.Rejected != "" {
		answers = append(answers, pair.Rejected)
	}

	return answers
}

// Measure returns the figures of a probe (docs/method.md, Gates). shares holds the shares of the action types in the
// whole data set (TypeShares), and answers specifies how sampled answers are read. unknown is the reason why the scores
// are unknown, or empty if they are known.
func Measure(probed []Probed, shares map[string]float64, answers agents.Reader, unknown string) domain.Probe {
	out := domain.Probe{Prompts: len(probed), Actions: map[string]int{}, Unknown: unknown}
	out.ByType = map[string]domain.ProbeType{}
	count := float64(len(probed))
	for _, p := range probed {
		out.Length += float64(len(p.Sampled)) / count
		sampledType := answerType(answers, p.Sampled)
		if sampledType != "" {
			out.ParseRate += 1 / count
			out.Actions[sampledType]++
		}

		if kind := raisedType(p.Pair); kind != "" {
			probeType := out.ByType[kind]
			probeType.Share = shares[kind]
			probeType.Prompts++
			if sampledType == kind {
				probeType.Sampled++
			}
			out.ByType[kind] = probeType
		}
	}
	if unknown == "" {
		addScores(&out, probed)
	}

	return out
}

// addScores adds the figures that are computed from log-probabilities.
func addScores(out *domain.Probe, probed []Probed) {
	all := func(Probed) bool { return true }
	out.Sampled = mean(probed, atSampled, all)
	out.Chosen, out.Rejected = learnedMeans(probed, all)
	out.KL = out.Sampled.Change()
	out.KLBase = out.Sampled.Policy - out.Sampled.Base
	out.Entropy = -out.Sampled.Policy
	out.LogprobDelta = out.Chosen.Change()
	out.Displaced = meanDisplaced(probed)

	for kind, probeType := range out.ByType {
		probeType.Chosen = mean(probed, atChosen, func(p Probed) bool { return raisedType(p.Pair) == kind })
		out.ByType[kind] = probeType
	}

	out.BySource = map[domain.Source]domain.ProbeSource{}
	for _, p := range probed {
		probeSource := out.BySource[p.Pair.Source]
		probeSource.Pairs++
		out.BySource[p.Pair.Source] = probeSource
	}
	for source, s := range out.BySource {
		own := func(p Probed) bool { return p.Pair.Source == source }
		s.Chosen, s.Rejected = learnedMeans(probed, own)
		out.BySource[source] = s
	}
}

// learnedMeans returns the mean log-probabilities of the answers that the update makes more and less probable, over the
// included pairs. A sample has only one of the two answers.
func learnedMeans(probed []Probed, include func(Probed) bool) (chosen, rejected domain.LogProbs) {
	lowered := func(p Probed) bool { return include(p) && !raises(p.Pair) }
	chosen = mean(probed, atChosen, func(p Probed) bool { return include(p) && raises(p.Pair) })
	if slices.ContainsFunc(probed, lowered) {
		return chosen, mean(probed, atChosen, lowered)
	}

	return chosen, mean(probed, atRejected, include)
}

// PreferenceShare returns the preference term's share of an update's gradient, from 0 to 1; the rest is the SFT term's.
// It is the mean over the pairs of a probe, at the start and at the end of the update (preference.Rule.Share). It is 0
// for RFT and if no scores are known, and 1 for GRPO, which has no SFT term.
func PreferenceShare(specification spec.Spec, probed []Probed) float64 {
	switch specification.Preference {
	case spec.PreferenceRFT:
		return 0
	case spec.PreferenceGRPO:
		return 1
	}

	rule := preference.RuleOf(specification.Train)
	sum := 0.0
	count := 0.0
	for _, p := range probed {
		if len(p.Policy) <= atRejected {
			continue
		}
		ref := p.Base
		if specification.Reference == spec.ReferenceEpochStart {
			ref = p.Parent
		}
		tokens := preference.Answers{float64(p.Policy[atChosen].Tokens), float64(p.Policy[atRejected].Tokens)}
		for _, at := range [][]chat.Score{p.Parent, p.Policy} {
			share := rule.Share(logProbs(at), logProbs(ref), tokens)
			if !math.IsNaN(share) { // NaN if one of the policies gives an answer probability 0
				sum += share
				count++
			}
		}
	}
	if count == 0 {
		return 0
	}

	return sum / count
}

func logProbs(scores []chat.Score) preference.Answers {
	return preference.Answers{scores[atChosen].LogProb, scores[atRejected].LogProb}
}

// mean returns the mean log-probabilities of the answers at index at, over the included pairs. It skips answers to
// which one of the policies gives probability 0.
func mean(probed []Probed, at int, include func(Probed) bool) domain.LogProbs {
	var sum domain.LogProbs
	count := 0.0
	for _, p := range probed {
		if !include(p) || at >= len(p.Policy) {
			continue
		}
		a := p.Policy[at].LogProb
		b := p.Parent[at].LogProb
		c := p.Base[at].LogProb
		if math.IsInf(a+b+c, -1) {
			continue
		}
		sum.Policy += a
		sum.Parent += b
		sum.Base += c
		count++
	}
	if count == 0 {
		return domain.LogProbs{}
	}

	return domain.LogProbs{Policy: sum.Policy / count, Parent: sum.Parent / count, Base: sum.Base / count}
}

// meanDisplaced returns the mean change since the parent of the probability that is on neither answer of a pair.
func meanDisplaced(probed []Probed) float64 {
	sum := 0.0
	count := 0.0
	for _, p := range probed {
		if len(p.Policy) > atRejected {
			sum += mass(p.Parent) - mass(p.Policy)
			count++
		}
	}
	if count == 0 {
		return 0
	}

	return sum / count
}

// mass returns the sum of the probabilities of the chosen and the rejected answer.
func mass(scores []chat.Score) float64 {
	return math.Exp(scores[atChosen].LogProb) + math.Exp(scores[atRejected].LogProb)
}
