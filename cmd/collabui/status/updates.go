package status

import (
	"fmt"
	"io"
	"slices"

	"github.com/collabui/collabui/cmd/collabui/terminal"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/records/runs"
)

// printUpdates prints measurements of updates: one line per agent, with changes against the parent policy.
func printUpdates(out io.Writer, updates []runs.Update) {
	terminal.Line(out, "%5s %7s %16s %17s %8s %10s %8s %7s %11s", "agent", "loss", "log π(chosen)", "log π(rejected)",
		"margin",
		"displaced", "entropy", "KL", "preference")
	for _, update := range updates {
		remarks := gapText("train-serve", update.Served) + gapText("rollout", update.Played) +
			leftOutText(update) + keptText(update.Kept)
		terminal.Line(out, "%5d %7s %s%s", update.Agent, lossText(update.Curve), probeText(update.Probe), remarks)
	}
	terminal.Line(out,
		"nats per answer, change against the parent in brackets; displaced: probability that left both answers;")
	terminal.Line(out, "preference: its term's share of the update, the rest is the SFT term's")
	sameAsFirst := func(update runs.Update) bool {
		return update.Agent > 0 && len(update.Curve) == 0 && update.Policy.Digest == updates[0].Policy.Digest
	}
	if slices.ContainsFunc(updates, sameAsFirst) {
		terminal.Line(out, "agents without a loss share the policy of agent 0, which was trained for all")
	}
}

// lossText returns the last loss of a training curve.
func lossText(curve []domain.TrainPoint) string {
	if len(curve) == 0 {
		return "-"
	}

	return fmt.Sprintf("%.3f", curve[len(curve)-1].Loss)
}

// probeText returns the log-probabilities of a probe, or the reason why they are missing.
func probeText(probe domain.Probe) string {
	switch {
	case probe.Unknown != "":
		return "unknown: " + probe.Unknown
	case probe.Chosen == (domain.LogProbs{}): // not probed
		return "not measured"
	}

	margin := fmt.Sprintf("%+.2f", probe.Chosen.Change()-probe.Rejected.Change())
	displaced := fmt.Sprintf("%+.3f", probe.Displaced)
	if probe.Rejected == (domain.LogProbs{}) { // nothing was rejected
		margin = "-"
		displaced = "-"
	}

	return fmt.Sprintf("%16s %17s %8s %10s %8.2f %7.2f %9.0f %%", againstParent(probe.Chosen),
		againstParent(probe.Rejected),
		margin, displaced, probe.Entropy, probe.KL, 100*probe.Preference)
}

// againstParent returns a log-probability and its change against the parent, or a dash if it was not measured.
func againstParent(logProbs domain.LogProbs) string {
	if logProbs == (domain.LogProbs{}) {
		return "-"
	}

	return fmt.Sprintf("%.2f (%+.2f)", logProbs.Policy, logProbs.Change())
}

// gapText returns a difference of log π in nats per token, or nothing if none was computed or found.
func gapText(name string, gap domain.Gap) string {
	switch {
	case gap.Unknown != "":
		return fmt.Sprintf("  %s gap unknown: %s", name, gap.Unknown)
	case gap.Worst == 0:
		return ""
	}

	return fmt.Sprintf("  %s gap %.2g, worst %.2g", name, gap.Mean, gap.Worst)
}

// leftOutText reports how many pairs the trainer left out, and in how many parts it had to process the others.
func leftOutText(update runs.Update) string {
	said := ""
	if len(update.Without) > 0 {
		said = fmt.Sprintf("  left out by people: rows %v", update.Without)
	}
	if update.Skipped > 0 {
		said += "  " + terminal.Count(update.Skipped, "pair") + " left out, too long or not expressible"
	}
	if update.Report != nil && update.Report.PerDevice > 0 {
		said += "  out of memory: " + terminal.Count(update.Report.PerDevice, "row") + " per device"
	}

	return said
}

// keptText returns the reason why an update was not used.
func keptText(why string) string {
	if why == "" {
		return ""
	}

	return "  parent kept: " + why
}
