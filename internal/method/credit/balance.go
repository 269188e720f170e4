package credit

import (
	"maps"
	"math"
	"slices"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
)

// Balance sets the pairs' weights so that every task template has the same total and the mean weight is 1.
func Balance(pairs []domain.Pair) {
	per := map[string]int{}
	for _, p := range pairs {
		per[p.Template]++
	}
	for i := range pairs {
		pairs[i].Weight = float64(len(pairs)) / float64(len(per)*per[pairs[i].Template])
	}
}

// BalanceActions sets the weights of demonstrations so that the total of an action type grows with the square root of
// its count and the mean weight is 1. A type that stage 1 hardly teaches is never proposed by any agent, so no cell
// of it is ever labelled 1 and stage 2 cannot bring it back.
func BalanceActions(pairs []domain.Pair) {
	kinds, per, total := make([]string, len(pairs)), map[string]float64{}, 0.0
	for i, p := range pairs {
		if a, err := agents.ParseAnswer(p.Chosen); err == nil {
			kinds[i] = a.Type
		}
		per[kinds[i]]++
	}
	for _, k := range slices.Sorted(maps.Keys(per)) { // a fixed order, because float addition is not associative
		total += math.Sqrt(per[k])
	}

	for i, k := range kinds {
		pairs[i].Weight = float64(len(pairs)) / (total * math.Sqrt(per[k]))
	}
}
