package mind2web

import (
	"slices"
	"strings"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/recorded"
)

// TopK is the number of candidates with which a step is posed. A right candidate beyond them counts as missed, as in
// the published evaluation.
const TopK = 50

// Metrics in addition to envadapters.StepSR.
const (
	// MetricElement is 1 if the chosen element is a right one among the candidates.
	MetricElement = "element_acc"
	// MetricF1 is the F1 of the sets of words of the operation and its value. It is 0 if no right element is among the
	// candidates.
	MetricF1 = "operation_f1"
	// MetricRecall is 1 if a right element is among the candidates. It measures the ranking, not the agents.
	MetricRecall = "recall@50"
)

// operation formats an action as "CLICK", "TYPE text" or "SELECT option". Other actions give "". A hover is a click, as
// in the data set.
func operation(a domain.Action) string {
	switch a.Type {
	case domain.ActionClick, domain.ActionHover:
		return opClick
	case domain.ActionTypeString:
		return strings.TrimSpace(opType + " " + a.Text)
	case domain.ActionSelect:
		return strings.TrimSpace(opSelect + " " + a.Option)
	}

	return ""
}

// score follows the published evaluation. right contains the right elements among the candidates, and op is the
// recorded operation. Without a right element all metrics are 0.
func score(a domain.Action, right []string, op string) map[string]domain.Metric {
	var element, f1, step, recall float64
	if len(right) > 0 {
		recall = 1
		f1 = setF1(operation(a), op)
	}
	if slices.Contains(right, a.Element) {
		element = 1
	}
	if element == 1 && f1 == 1 {
		step = 1
	}

	return map[string]domain.Metric{
		envadapters.StepSR: {Sum: step, N: 1},
		MetricElement:      {Sum: element, N: 1},
		MetricF1:           {Sum: f1, N: 1},
		MetricRecall:       {Sum: recall, N: 1},
	}
}

// setF1 returns the F1 of two sets of words. Order and repetition do not count, as in the published evaluation.
func setF1(got, want string) float64 {
	g := set(got)
	w := set(want)
	shared := 0
	for text := range g {
		if w[text] {
			shared++
		}
	}

	return recorded.F1(shared, len(g), len(w))
}

func set(text string) map[string]bool {
	out := map[string]bool{}
	for _, t := range strings.Fields(text) {
		out[t] = true
	}

	return out
}
