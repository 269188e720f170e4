package credit

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/collabui/collabui/domain"
)

// StyleLimit is the StyleAUC above which a data set leaks style.
const StyleLimit = 0.75

// Card describes a data set of preference pairs (docs/method.md, Pairs).
type Card struct {
	Duplicates int     `json:"duplicates"`      // pairs whose prompt, chosen and rejected occurred before
	Chosen     float64 `json:"chosen_length"`   // mean number of bytes
	Rejected   float64 `json:"rejected_length"` // mean number of bytes
	StyleAUC   float64 `json:"style_auc"`

	// Right counts the right answers that are rows of their own beside the pairs. No other figure but BySource includes
	// them.
	Right int `json:"right,omitempty"`

	BySource map[domain.Source]int `json:"by_source"`

	// Counts is keyed by template, action type of the chosen answer, and source, such as "todo-add/click/adversary".
	Counts map[string]int `json:"counts"`
}

// Describe returns the card of a data set.
func Describe(pairs []domain.Example) Card {
	card := Card{StyleAUC: StyleAUC(pairs), BySource: map[domain.Source]int{}, Counts: map[string]int{}}
	type text struct{ prompt, image, chosen, rejected string }
	seen := map[text]bool{}
	for _, pair := range pairs {
		id := text{pair.Prompt, pair.Image, pair.Chosen, pair.Rejected}
		if seen[id] {
			card.Duplicates++
		}
		seen[id] = true
		card.Chosen += float64(len(pair.Chosen)) / float64(len(pairs))
		card.Rejected += float64(len(pair.Rejected)) / float64(len(pairs))
		kind := actionType(pair.ChosenCanonical)
		card.BySource[pair.Source]++
		card.Counts[pair.Template+"/"+kind+"/"+string(pair.Source)]++
	}

	return card
}

// StyleAUC measures how well words alone, without the prompt, separate chosen from rejected answers: the area under the
// ROC curve of a naive Bayes bag-of-words classifier. It is cross-validated in two folds by slots, because an answer
// has several pairs. 0.5 means no leak; above StyleLimit, preference optimisation may learn style instead of choice.
// Digits are ignored, because indices belong to the choice, not to the style.
func StyleAUC(pairs []domain.Example) float64 {
	var all []scoredAnswer
	for fold := range 2 {
		count := [2]map[string]float64{{}, {}}
		total := [2]float64{}
		for _, pair := range pairs {
			if pair.Slot%2 == fold {
				continue
			}
			for side, text := range sides(pair) {
				for _, word := range words(text) {
					count[side][word]++
					total[side]++
				}
			}
		}

		for _, example := range pairs {
			if example.Slot%2 != fold {
				continue
			}
			for side, text := range sides(example) {
				s := 0.0
				for _, w := range words(text) {
					s += math.Log((count[0][w]+1)/(total[0]+1000)) - math.Log((count[1][w]+1)/(total[1]+1000))
				}
				all = append(all, scoredAnswer{score: s, positive: side == 0})
			}
		}
	}

	return areaUnderCurve(all)
}

// sides yields the answers of a pair to be made more probable (0) and less probable (1). A GRPO sample has only one of
// them.
func sides(pair domain.Example) iter.Seq2[int, string] {
	more, less := pair.Learned()

	return func(yield func(int, string) bool) {
		if pair.Advantage >= 0 && !yield(0, more) {
			return
		}
		if pair.Advantage <= 0 {
			yield(1, less)
		}
	}
}

// scoredAnswer is an answer with its score by a classifier.
type scoredAnswer struct {
	score    float64
	positive bool
}

// areaUnderCurve returns the area under the ROC curve by the rank statistic of the positives. Ties share their mean
// rank. Without positives or without negatives, the area is 0.5.
func areaUnderCurve(all []scoredAnswer) float64 {
	slices.SortStableFunc(all, func(a, b scoredAnswer) int { return cmp.Compare(a.score, b.score) })
	pos := 0.0
	neg := 0.0
	sum := 0.0
	for i := 0; i < len(all); {
		j := i
		for j < len(all) && all[j].score == all[i].score {
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

// words splits a text into lower-case words of letters and underscores.
func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !(r >= 'a' && r <= 'z' || r == '_') })
}
