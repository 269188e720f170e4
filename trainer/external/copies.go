package external

import (
	"slices"

	"github.com/collabui/collabui/domain"
)

// Copies turns weights into numbers of copies, for training programs that do not support weights. Systematic resampling
// returns as many pairs as there were, in the same order, each as often as its share of the weight, rounded up or down.
func Copies(pairs []domain.Example) []domain.Example {
	sum := 0.0
	for _, example := range pairs {
		sum += example.Weight
	}
	uneven := func(p domain.Example) bool { return p.Weight != pairs[0].Weight }
	if sum <= 0 || !slices.ContainsFunc(pairs, uneven) {
		return slices.Clone(pairs)
	}

	count := float64(len(pairs))
	var out []domain.Example
	upto := 0.0
	for i, p := range pairs {
		upto += p.Weight / sum * count
		if i == len(pairs)-1 {
			upto = count // Rounding errors must not change the number of pairs.
		}
		for float64(len(out))+0.5 <= upto {
			out = append(out, p)
		}
	}

	return out
}
