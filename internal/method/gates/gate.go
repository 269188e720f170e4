// Package gates has the rules that decide whether a new policy is used: how an update is probed and a policy compared
// with what serves it, and what keeps the parent. Its functions are pure.
//
// It does no I/O.
package gates

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/method/stats"
)

// Update compares an updated policy with its parent, by a probe on pairs of the agent's own data set
// (docs/method.md, Gates). It returns the reason for keeping the parent, or "" if the update passes.
func Update(gates spec.Gates, p domain.Probe, pairs []domain.Example) string {
	if !Finite(p) {
		return "the probe's figures are not numbers"
	}

	length := chosenLength(pairs)
	switch {
	case p.KL > gates.MaxKL:
		return fmt.Sprintf("KL to the parent %.2f is above %.2f nats", p.KL, gates.MaxKL)
	case p.LogprobDelta < gates.MinLogprob:
		return fmt.Sprintf("log-probability of chosen answers changed by %.2f, below %.2f",
			p.LogprobDelta, gates.MinLogprob)
	case p.ParseRate < gates.MinParse:
		return fmt.Sprintf("only %.0f %% of sampled answers parse, below %.0f %%", 100*p.ParseRate, 100*gates.MinParse)
	case p.Length > gates.MaxLength*length:
		return fmt.Sprintf(
			"sampled answers have %.0f characters on average, more than %.1f times the chosen ones' %.0f",
			p.Length, gates.MaxLength, length)
	case p.Entropy < gates.MinEntropy && p.Unknown == "":
		return fmt.Sprintf("entropy %.3f is below %.3f nats", p.Entropy, gates.MinEntropy)
	}

	for _, kind := range slices.Sorted(maps.Keys(p.ByType)) {
		probeType := p.ByType[kind]
		if probeType.Share >= gates.TypeShare && probeType.Sampled == 0 && probeType.Chosen.Change() < 0 {
			return fmt.Sprintf("%s vanished: it is %.0f %% of the chosen answers, none of %d sampled ones, "+
				"and their log-probability fell from %.2f to %.2f",
				kind, 100*probeType.Share, probeType.Prompts, probeType.Chosen.Parent, probeType.Chosen.Policy)
		}
	}

	return ""
}

// PairedVal holds what two systems reached in one episode of val, from 0 to 1: 0 or 1 or, for recorded tasks, the share
// of right steps.
type PairedVal struct{ Parent, New float64 }

// ValOutcome returns what a system reached in an episode of val: success or, for recorded tasks, the share of right
// steps. It returns false if the episode has no outcome.
func ValOutcome(outcome domain.Outcome) (float64, bool) {
	metric, recorded := outcome.Metrics[envadapters.StepSR]
	switch {
	case outcome.Void != "", recorded && metric.N == 0:
		return 0, false
	case recorded:
		return metric.Sum / float64(metric.N), true
	case outcome.Success:
		return 1, true
	}

	return 0, true
}

// Rollback compares an epoch's new system with the system that its updates began with, on the same episodes of val. The
// new system is worse if the 95 % interval of the mean of the differences lies below −MaxValDrop. Rollback returns the
// reason for which the agents continue with the parent, or "" if they switch to the new system. It never finds a new
// system worse on fewer than two episodes.
func Rollback(gates spec.Gates, pairs []PairedVal) string {
	if gates.MaxValDrop >= 1 || len(pairs) < 2 {
		return ""
	}
	parent := 0.0
	differences := make([]float64, len(pairs))
	for i, pair := range pairs {
		parent += pair.Parent / float64(len(pairs))
		differences[i] = pair.New - pair.Parent
	}
	mean, low, high := stats.TInterval(differences)
	if high >= -gates.MaxValDrop {
		return ""
	}

	return fmt.Sprintf("val fell from %.1f %% to %.1f %%: %+.1f [%+.1f, %+.1f] points on %d episodes that both played",
		100*parent, 100*(parent+mean), 100*mean, 100*low, 100*high, len(pairs))
}

// Finite reports whether all figures of a probe are finite numbers.
func Finite(p domain.Probe) bool {
	sum := p.KL + p.KLBase + p.LogprobDelta + p.Entropy + p.Rejected.Policy + p.Rejected.Parent + p.Displaced

	return !math.IsNaN(sum) && !math.IsInf(sum, 0)
}

// chosenLength returns the mean length of the chosen answers in bytes.
func chosenLength(pairs []domain.Example) (length float64) {
	for _, pair := range pairs {
		length += float64(len(pair.Chosen)) / float64(len(pairs))
	}

	return length
}
