package credit

import (
	"math"
	"slices"
	"strings"

	"github.com/collabui/collabui/domain"
)

// StyleLimit is the StyleAUC above which a data set leaks style.
const StyleLimit = 0.75

// Card describes a data set of preference pairs (METHOD.md section 4, pairs).
type Card struct {
	Duplicates int            `json:"duplicates"`      // pairs whose prompt, chosen and rejected stand there already
	Chosen     float64        `json:"chosen_length"`   // mean characters
	Rejected   float64        `json:"rejected_length"` // mean characters
	StyleAUC   float64        `json:"style_auc"`
	BySource   map[string]int `json:"by_source"`
	Counts     map[string]int `json:"counts"` // by template, action type of chosen, and source, as "todo-add/click/adversary"
}

// Describe makes the card of a data set.
func Describe(pairs []domain.Pair) Card {
	c := Card{StyleAUC: StyleAUC(pairs), BySource: map[string]int{}, Counts: map[string]int{}}
	seen := map[[3]string]bool{}
	for _, p := range pairs {
		id := [3]string{p.Prompt, p.Chosen, p.Rejected}
		if seen[id] {
			c.Duplicates++
		}
		seen[id] = true
		c.Chosen += float64(len(p.Chosen)) / float64(len(pairs))
		c.Rejected += float64(len(p.Rejected)) / float64(len(pairs))
		kind, _, _ := strings.Cut(p.ChosenCanonical, " ")
		c.BySource[p.Source]++
		c.Counts[p.Template+"/"+kind+"/"+p.Source]++
	}
	return c
}

// StyleAUC tells how well words alone, without the prompt, separate chosen from rejected answers: the area under the ROC curve of a naive Bayes
// bag-of-words classifier, two-fold cross-validated. 0.5 is no leak; above 0.75 preference optimisation may learn style instead of choice.
// Digits are left out: indices belong to the choice, not to the style.
func StyleAUC(pairs []domain.Pair) float64 {
	type scored struct {
		s        float64
		positive bool
	}
	var all []scored
	for fold := range 2 {
		count := [2]map[string]float64{{}, {}}
		total := [2]float64{}
		for i, p := range pairs {
			if i%2 == fold {
				continue
			}
			for side, text := range []string{p.Chosen, p.Rejected} {
				for _, w := range words(text) {
					count[side][w]++
					total[side]++
				}
			}
		}
		for i, p := range pairs {
			if i%2 != fold {
				continue
			}
			for side, text := range []string{p.Chosen, p.Rejected} {
				s := 0.0
				for _, w := range words(text) {
					s += math.Log((count[0][w]+1)/(total[0]+1000)) - math.Log((count[1][w]+1)/(total[1]+1000))
				}
				all = append(all, scored{s, side == 0})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b scored) int {
		switch {
		case a.s < b.s:
			return -1
		case a.s > b.s:
			return 1
		}
		return 0
	})
	pos, neg, sum := 0.0, 0.0, 0.0
	for i := 0; i < len(all); { // ties share their mean rank
		j := i
		for j < len(all) && all[j].s == all[i].s {
			j++
		}
		for _, x := range all[i:j] {
			if x.positive {
				pos++
				sum += float64(i+j+1) / 2
			} else {
				neg++
			}
		}
		i = j
	}
	if pos == 0 || neg == 0 {
		return 0.5
	}
	return (sum - pos*(pos+1)/2) / (pos * neg)
}

func words(s string) []string {
	return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !(r >= 'a' && r <= 'z' || r == '_') })
}
