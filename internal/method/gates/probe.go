package gates

import (
	"maps"
	"slices"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/spec"
)

// probePerType is the number of a probe's prompts for every action type that a gate watches, if the data set has
// enough.
const probePerType = 8

// ProbePairs draws at most gates.Probe pairs of a data set on which a policy is probed, and keeps their order. Every
// action type with at least a share of gates.TypeShare of the chosen answers gets 8 of them, or as many as it has, or
// an equal part if gates.Probe is too small. The rest is drawn uniformly from all other pairs.
func ProbePairs(gates spec.Gates, pairs []domain.Example, seed uint64) []domain.Example {
	perm := domain.Rand(seed, "pairs").Perm(len(pairs))
	byType := map[string][]int{} // indices in drawn order
	for _, i := range perm {
		kind := raisedType(pairs[i])
		byType[kind] = append(byType[kind], i)
	}
	shares := TypeShares(pairs)
	maps.DeleteFunc(byType, func(kind string, _ []int) bool { return kind == "" || shares[kind] < gates.TypeShare })

	n := min(gates.Probe, len(pairs))
	drawn := map[int]bool{}
	for _, of := range byType {
		for _, i := range of[:min(len(of), probePerType, n/len(byType))] {
			drawn[i] = true
		}
	}
	for _, i := range perm {
		if len(drawn) == n {
			break
		}
		drawn[i] = true
	}

	out := make([]domain.Example, 0, n)
	for _, i := range slices.Sorted(maps.Keys(drawn)) {
		out = append(out, pairs[i])
	}

	return out
}

// TypeShares returns the share of every action type among the chosen answers of a data set, from 0 to 1.
func TypeShares(pairs []domain.Example) map[string]float64 {
	out := map[string]float64{}
	raised := 0.0
	for _, pair := range pairs {
		if raises(pair) {
			raised++
		}
		if kind := raisedType(pair); kind != "" {
			out[kind]++
		}
	}
	for kind, count := range out {
		out[kind] = count / raised
	}

	return out
}

// raises reports whether an update makes the chosen answer of a pair more probable. It lowers the answers of samples
// with an advantage below 0.
func raises(pair domain.Example) bool { return pair.Advantage >= 0 }

// raisedType returns the action type of the answer that a pair makes more probable, or "".
func raisedType(pair domain.Example) string {
	more, _ := pair.Learned()

	return answerType(agents.Reader{Speech: true}, more)
}

// answerType returns the action type of an answer, or "" if it does not parse.
func answerType(answers agents.Reader, answer string) string {
	action, err := answers.Action(answer)
	if err != nil {
		return ""
	}

	return action.Type
}
