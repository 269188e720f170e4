package autowebbench

import (
	"strings"
	"unicode"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/recorded"
)

// Metrics in addition to envadapters.StepSR, the share of records with an equal command and element. The metrics whose
// names begin with awg are means over the records whose recorded command has an element, as in the published script. A
// command that does not parse counts as wrong, whereas the script leaves it out.
const (
	// MetricStrict is the share of all records with equal arguments.
	MetricStrict = "strict"
	// MetricAll is the share with an equal command and element.
	MetricAll = "awg-all"
	// MetricType is the share with an equal command.
	MetricType = "awg-type"
	// MetricLabel is the share with an equal element.
	MetricLabel = "awg-label"
	// MetricParam is ROUGE-1 F of the text that is typed or chosen, over the records with such a text. Tokens are words
	// and single Chinese characters, whereas the published script takes them from jieba.
	MetricParam = "awg-param-rouge"
)

// score compares an action with the recorded one.
func score(action, gold domain.Action) map[string]domain.Metric {
	kind := action.Type == gold.Type
	label := action.Element == gold.Element
	m := map[string]domain.Metric{
		envadapters.StepSR: share(kind && label),
		MetricStrict:       share(action == gold),
	}
	if gold.Element == "" {
		return m
	}

	m[MetricAll], m[MetricType], m[MetricLabel] = share(kind && label), share(kind), share(label)
	if text := gold.Text + gold.Option; text != "" {
		m[MetricParam] = domain.Metric{Sum: rouge1(action.Text+action.Option, text), N: 1}
	}

	return m
}

// share is a metric of one record: 1 or 0 of 1.
func share(right bool) domain.Metric {
	if right {
		return domain.Metric{Sum: 1, N: 1}
	}
	return domain.Metric{N: 1}
}

// rouge1 returns the F measure of the shared tokens. A token that occurs several times in both texts counts as often as
// in the text with fewer of them.
func rouge1(got, want string) float64 {
	g := tokens(got)
	w := tokens(want)
	left := map[string]int{}
	for _, text := range w {
		left[text]++
	}

	shared := 0
	for _, t := range g {
		if left[t] > 0 {
			left[t]--
			shared++
		}
	}

	return recorded.F1(shared, len(g), len(w))
}

// tokens returns the words and the single Chinese characters of a text in lower case.
func tokens(text string) []string {
	var out []string
	var word strings.Builder
	end := func() {
		if word.Len() > 0 {
			out = append(out, word.String())
			word.Reset()
		}
	}

	for _, r := range strings.ToLower(text) {
		switch {
		case unicode.Is(unicode.Han, r):
			end()
			out = append(out, string(r))
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			word.WriteRune(r)
		default:
			end()
		}
	}
	end()

	return out
}
