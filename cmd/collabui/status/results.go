package status

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/collabui/collabui/cmd/collabui/terminal"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/internal/records/runs"
)

// PrintResults prints a table of success rates per environment, or of step rates for recorded tasks, and then how each
// system decoded.
func PrintResults(out io.Writer, results []runs.Result) {
	var order []string
	tables := map[string][]runs.Result{}
	for _, result := range results {
		key := result.Environment + result.Protocol
		if tables[key] == nil {
			order = append(order, key)
		}
		tables[key] = append(tables[key], result)
	}
	for _, key := range order {
		if tables[key][0].Protocol != "" {
			printRecorded(out, tables[key])
		} else {
			printRates(out, tables[key])
		}
	}

	decoding := map[string]string{}
	for _, result := range results {
		decoding[result.System] = result.Decoding
	}
	terminal.Line(out, "")
	for _, system := range slices.Sorted(maps.Keys(decoding)) {
		terminal.Line(out, "decoding %-*s %s", systemWidth(results), system, decoding[system])
	}
}

// systemWidth returns the width of a column with the systems of results.
func systemWidth(results []runs.Result) int {
	width := 12
	for _, result := range results {
		width = max(width, len(result.System))
	}

	return width
}

// heading returns the name of an environment with the version of its data.
func heading(result runs.Result) string {
	if result.Version == "" {
		return result.Environment
	}

	return fmt.Sprintf("%s · %.160s", result.Environment, result.Version)
}

// printRates prints the success rates in one environment.
func printRates(w io.Writer, results []runs.Result) {
	if results[0].Environment != "" {
		terminal.Line(w, "\n%s", heading(results[0]))
	}
	width := systemWidth(results)
	terminal.Line(w, "%-*s %-15s %9s %7s   %-22s  %14s",
		width, "system", "split", "right", "rate", "95 % interval (Wilson)", "tokens/success")
	for _, result := range results {
		interval := fmt.Sprintf("%.1f to %.1f", 100*result.Low, 100*result.High)
		terminal.Line(w, "%-*s %-15s %4d/%-4d %5.1f %%   %-22s  %14s%s",
			width, result.System, result.Split, result.Successes, result.Episodes, 100*result.Rate, interval,
			perSuccess(result), missingText(result)+cutText(result))
	}
	if slices.ContainsFunc(results, func(result runs.Result) bool { return result.Split == domain.SplitVal }) {
		terminal.Line(w, "val chose the epoch of the trained system; test splits chose nothing")
	}
}

// perSuccess returns the tokens of the agents, of prompts and answers, per success.
func perSuccess(result runs.Result) string {
	tokens, ok := result.Cost.PerSuccess(result.Successes)
	if !ok {
		return "–"
	}

	return fmt.Sprintf("%.0f", tokens)
}

// missingText returns the range of the rate if the missing episodes had been played.
func missingText(result runs.Result) string {
	if result.Missing == 0 {
		return ""
	}
	count := float64(result.Episodes + result.Missing)
	worst := 100 * float64(result.Successes) / count
	best := 100 * float64(result.Successes+result.Missing) / count

	return fmt.Sprintf("   %d missing: %.1f to %.1f %% at worst and best", result.Missing, worst, best)
}

// cutText returns how many cells had a prompt that lacked a part of the agent's view or that the model refused, and how
// many answers were read although they do not have the form that the prompt requires.
func cutText(result runs.Result) string {
	said := ""
	if result.Cut > 0 {
		said = "   " + terminal.Count(result.Cut, "prompt") + " cut"
	}
	if result.Refused > 0 {
		said += "   " + terminal.Count(result.Refused, "prompt") + " refused"
	}
	if result.Repaired > 0 {
		said += "   " + terminal.Count(result.Repaired, "answer") + " repaired"
	}

	return said
}

// printRecorded prints the step rates on recorded tasks. They are not success rates, and never share a column with
// them.
func printRecorded(out io.Writer, results []runs.Result) {
	terminal.Line(out, "\n%s: recorded tasks, protocol %s", heading(results[0]), results[0].Protocol)
	terminal.Line(out, "%-15s %-15s %-16s %7s %7s   %-24s %12s",
		"system", "split", "metric", "micro", "macro", "95 % of micro (bootstrap)", "steps/tasks")

	for _, result := range results {
		for i, name := range metrics(result) {
			system := result.System
			split := result.Split
			if i > 0 {
				system = ""
				split = ""
			}
			m := result.Metrics[name]
			terminal.Line(out, "%-15s %-15s %-16s %5.1f %% %5.1f %%   %5.1f to %-5.1f %19d/%d",
				system, split, name, 100*m.Micro, 100*m.Macro, 100*m.Low, 100*m.High, m.Steps, m.Tasks)
		}
		terminal.Line(out, "%-15s %-15s %-16s %3d of %d tasks right in full, %s tokens for each of them",
			"", "", "task_sr", result.Successes, result.Episodes, perSuccess(result))
	}
}

// metrics returns the names of the metrics of a result, beginning with the one to compare by.
func metrics(result runs.Result) []string {
	names := slices.Sorted(maps.Keys(result.Metrics))
	if i := slices.Index(names, envadapters.StepSR); i > 0 {
		names = slices.Insert(slices.Delete(names, i, i+1), 0, envadapters.StepSR)
	}

	return names
}
