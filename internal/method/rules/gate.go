package rules

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/spec"
)

// parseLoss is the share of unparseable answers that an update may have.
const parseLoss = 0.05

// Gate compares an updated policy with its parent, from a probe on pairs of the agent's own data set (docs/method.md,
// Gates). It returns why the parent is kept, or "" if the update passes.
func Gate(g spec.Gates, p domain.Probe, pairs []domain.Pair) string {
	if !Finite(p) {
		return "the probe's figures are not numbers"
	}

	length, types := chosen(pairs)
	switch {
	case p.KL > g.MaxKL:
		return fmt.Sprintf("KL to the parent %.2f is above %.2f nats", p.KL, g.MaxKL)
	case p.LogprobDelta < g.MinLogprob:
		return fmt.Sprintf("log-probability of chosen answers changed by %.2f, below %.2f",
			p.LogprobDelta, g.MinLogprob)
	case p.ParseRate < 1-parseLoss:
		return fmt.Sprintf("only %.0f %% of sampled answers parse", 100*p.ParseRate)
	case p.Length > g.MaxLength*length:
		return fmt.Sprintf(
			"sampled answers have %.0f characters on average, more than %.1f times the chosen ones' %.0f",
			p.Length, g.MaxLength, length)
	case p.Entropy < g.MinEntropy && (p.Entropy > 0 || !p.Served): // a server may give no log-probabilities
		return fmt.Sprintf("entropy %.3f is below %.3f nats", p.Entropy, g.MinEntropy)
	}

	for _, kind := range slices.Sorted(maps.Keys(types)) {
		share := float64(types[kind]) / float64(len(pairs))
		if share >= g.TypeShare && p.Actions[kind] == 0 {
			return fmt.Sprintf("no sampled answer is %s, %.0f %% of the chosen ones are", kind, 100*share)
		}
	}

	return ""
}

// Rollback compares the rates on val, from 0 to 1, of the system that an epoch made and of the one that rolled out. It
// returns why the agents go on with the latter, or "" if they switch.
func Rollback(g spec.Gates, val, parent float64) string {
	if drop := parent - val; drop > g.MaxValDrop {
		return fmt.Sprintf("val fell from %.1f %% to %.1f %%", 100*parent, 100*val)
	}

	return ""
}

// Finite reports whether the figures of a probe are numbers.
func Finite(p domain.Probe) bool {
	sum := p.KL + p.KLBase + p.LogprobDelta + p.Entropy

	return !math.IsNaN(sum) && !math.IsInf(sum, 0)
}

// chosen returns the mean length in characters and the action types of the chosen answers.
func chosen(pairs []domain.Pair) (length float64, types map[string]int) {
	types = map[string]int{}
	for _, p := range pairs {
		length += float64(len(p.Chosen)) / float64(len(pairs))
		if a, err := agents.ParseAnswer(p.Chosen); err == nil {
			types[a.Type]++
		}
	}

	return length, types
}
