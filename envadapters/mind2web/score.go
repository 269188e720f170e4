package mind2web

import (
	"strings"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
)

// TopK is the number of candidates that a step is posed with; a right one behind them counts as missed, as in the published evaluation.
const TopK = 50

// Metrics beside envadapters.StepSR. Recall is a figure of the ranking, not of the agents.
const (
	MetricElement = "element_acc"  // the chosen element is a right one among the candidates
	MetricF1      = "operation_f1" // F1 of the set of words of "OP value"; 0 where no right element is among the candidates
	MetricRecall  = "recall@50"    // a right element is among the candidates
)

// operation writes an action as "CLICK", "TYPE text" or "SELECT option"; what is none of these is empty.
func operation(a domain.Action) string {
	switch a.Type {
	case domain.ActionClick, domain.ActionHover: // the data set has hovering as a click, too
		return "CLICK"
	case domain.ActionTypeString:
		return strings.TrimSpace("TYPE " + a.Text)
	case domain.ActionSelect:
		return strings.TrimSpace("SELECT " + a.Option)
	}
	return ""
}

// score follows the published evaluation: right are the right elements among the candidates, op is the recorded operation. Without a right element everything is 0.
func score(a domain.Action, right []string, op string) map[string]domain.Metric {
	element, f1, step, recall := 0.0, 0.0, 0.0, 0.0
	if len(right) > 0 {
		recall = 1
		for _, id := range right {
			if a.Element == id {
				element = 1
			}
		}
		f1 = setF1(operation(a), op)
		if element == 1 && f1 == 1 {
			step = 1
		}
	}
	return map[string]domain.Metric{envadapters.StepSR: {Sum: step, N: 1}, MetricElement: {Sum: element, N: 1}, MetricF1: {Sum: f1, N: 1}, MetricRecall: {Sum: recall, N: 1}}
}

// setF1 is the F1 of two sets of words: order and repetition do not count, as in the published evaluation. Two empty texts are equal.
func setF1(got, want string) float64 {
	g, w := set(got), set(want)
	if len(g) == 0 && len(w) == 0 {
		return 1
	}
	shared := 0
	for t := range g {
		if w[t] {
			shared++
		}
	}
	if shared == 0 {
		return 0
	}
	p, r := float64(shared)/float64(len(g)), float64(shared)/float64(len(w))
	return 2 * p * r / (p + r)
}

func set(s string) map[string]bool {
	out := map[string]bool{}
	for _, t := range strings.Fields(s) {
		out[t] = true
	}
	return out
}
