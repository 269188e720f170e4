package autowebbench

import (
	"strings"
	"unicode"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
)

// Metrics beside envadapters.StepSR, which is ssr-all-records: command and element equal, over all records. Those that begin with awg are means over the records whose recorded
// command names an element, as the published script takes them; a command that does not parse counts as wrong here, where that script leaves it out.
const (
	MetricStrict = "strict"          // all arguments equal, over all records
	MetricAll    = "awg-all"         // command and element equal
	MetricType   = "awg-type"        // command equal
	MetricLabel  = "awg-label"       // element equal
	MetricParam  = "awg-param-rouge" // ROUGE-1 F of the text that is typed or chosen, over the records that have one; tokens are words, or single Chinese characters (the published script's are jieba's)
)

func score(a, gold domain.Action) map[string]domain.Metric {
	is := func(ok bool) domain.Metric {
		if ok {
			return domain.Metric{Sum: 1, N: 1}
		}
		return domain.Metric{N: 1}
	}
	kind, label := a.Type == gold.Type, a.Element == gold.Element
	m := map[string]domain.Metric{envadapters.StepSR: is(kind && label), MetricStrict: is(a == gold)}
	if gold.Element != "" {
		m[MetricAll], m[MetricType], m[MetricLabel] = is(kind && label), is(kind), is(label)
		if text := gold.Text + gold.Option; text != "" {
			m[MetricParam] = domain.Metric{Sum: rouge1(a.Text+a.Option, text), N: 1}
		}
	}
	return m
}

// rouge1 is the F measure of shared tokens, each counted as often as it stands in both; two empty texts are equal.
func rouge1(got, want string) float64 {
	g, w := tokens(got), tokens(want)
	if len(g) == 0 && len(w) == 0 {
		return 1
	}
	left := map[string]int{}
	for _, t := range w {
		left[t]++
	}
	shared := 0
	for _, t := range g {
		if left[t] > 0 {
			left[t]--
			shared++
		}
	}
	if shared == 0 {
		return 0
	}
	p, r := float64(shared)/float64(len(g)), float64(shared)/float64(len(w))
	return 2 * p * r / (p + r)
}

func tokens(s string) []string {
	var out []string
	var word strings.Builder
	end := func() {
		if word.Len() > 0 {
			out = append(out, word.String())
			word.Reset()
		}
	}
	for _, r := range strings.ToLower(s) {
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
