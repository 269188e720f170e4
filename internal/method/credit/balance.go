package credit

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
)

// Balance sets the pairs' weights so that every task template has the same total, up to a bound, and the mean weight is
// 1. Before they are scaled to that mean, weights are at most limit, so a template with a single pair does not dominate
// an update.
func Balance(pairs []domain.Example, limit float64) {
	counts := map[string]int{}
	for _, pair := range pairs {
		counts[pair.Template]++
	}
	for i := range pairs {
		share := float64(len(pairs)) / float64(len(counts)*counts[pairs[i].Template])
		pairs[i].Weight = math.Min(limit, share)
	}
	normalise(pairs)
}

// typePair holds the action types of the chosen and the rejected answer of a pair.
type typePair struct{ chosen, rejected string }

// BalanceTypes lowers weights so that, for any two action types, the pairs that prefer the first weigh in total as much
// as the pairs that prefer the second, and then scales the mean weight back to 1. Without it, a type that is chosen
// more often than rejected gains probability on every prompt regardless of the screen, because preference optimisation
// learns the prior of the types. Pairs within a type keep their weight until the scaling.
func BalanceTypes(pairs []domain.Example) {
	total := map[typePair]float64{}
	for _, pair := range pairs {
		total[typesOf(pair)] += pair.Weight
	}
	for i := range pairs {
		own := typesOf(pairs[i])
		weight := total[own]
		opposite := total[typePair{own.rejected, own.chosen}]
		if own.chosen != own.rejected && opposite < weight {
			pairs[i].Weight *= opposite / weight
		}
	}
	normalise(pairs)
}

func typesOf(pair domain.Example) typePair {
	return typePair{actionType(pair.ChosenCanonical), actionType(pair.RejectedCanonical)}
}

// actionType returns the type of an action, given its canonical form.
func actionType(canonical string) string {
	kind, _, _ := strings.Cut(canonical, " ")

	return kind
}

// normalise scales the weights to a mean of 1. If all weights are 0, it sets them to 1.
func normalise(pairs []domain.Example) {
	sum := 0.0
	for _, pair := range pairs {
		sum += pair.Weight
	}
	for i := range pairs {
		if sum == 0 {
			pairs[i].Weight = 1
		} else {
			pairs[i].Weight *= float64(len(pairs)) / sum
		}
	}
}

// BalanceActions sets the weights of demonstrations so that the total weight of an action type grows with the square
// root of its count, and the mean weight is 1. If stage 1 hardly teaches a type, no agent ever proposes it, so none of
// its cells is ever labelled 1 and stage 2 cannot bring it back.
func BalanceActions(pairs []domain.Example) {
	kinds := make([]string, len(pairs))
	counts := map[string]float64{}
	total := 0.0
	for i, pair := range pairs {
		if action, ok := agents.ParseMessage(pair.Chosen); ok {
			kinds[i] = action.Type
		}
		counts[kinds[i]]++
	}
	// The order is fixed, because float addition is not associative.
	for _, key := range slices.Sorted(maps.Keys(counts)) {
		total += math.Sqrt(counts[key])
	}

	for i, k := range kinds {
		pairs[i].Weight = float64(len(pairs)) / (total * math.Sqrt(counts[k]))
	}
}
