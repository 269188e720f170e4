package workflows

import (
	"fmt"
	"strings"

	"go.temporal.io/sdk/workflow"

	epochs "github.com/collabui/collabui/activities/epoch"
	"github.com/collabui/collabui/internal/records/runs"
)

// describe writes the whole run into the details that the Temporal UI shows, as Markdown: what it does now, stage 1,
// the newest epochs with links to their workflows, and at the end the results. They stay when the run has ended.
func (r *runState) describe(ctx workflow.Context) {
	var lines []string
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }

	say("**%s**, epoch %d of %d", r.status.Stage, r.status.Epoch, r.status.Epochs)
	if r.status.Paused {
		say("\npaused: %s", plain(r.status.Reason))
	}
	if r.progress.Phase != "" {
		say("\nphase: %s", r.progress.Phase)
	}
	if r.status.Child != "" {
		say("\nnow: %s", link(ctx, r.status.Child, r.status.Child))
	}
	if r.status.Next != "" {
		say("\nbeside it: %s", link(ctx, r.status.Next, r.status.Next))
	}
	if r.plan.View != "" {
		say("\n[see every episode](%s/#/run/%s)", strings.TrimSuffix(r.plan.View, "/"), r.in.Name)
	}
	if r.plan.Stage1 != "" {
		say("\nstage 1: %s", plain(r.plan.Stage1))
	}
	if len(r.past) > 0 {
		say("\n| epoch | rollouts | pairs | val | |\n|---|---|---|---|---|")
	}
	for _, epoch := range r.past {
		val := ""
		notes := plain(epoch.Kept)
		if epoch.Val >= 0 {
			val = fmt.Sprintf("%.1f %%", 100*epoch.Val)
		}
		if epoch.Failed > 0 {
			notes += fmt.Sprintf(" %d slots failed", epoch.Failed)
		}
		say("| %s | %.1f %% | %d | %s | %s |", link(ctx, fmt.Sprint(epoch.Epoch), epochID(r.in.Name, epoch.Epoch)),
			100*epoch.Rollouts, epoch.Pairs, val, notes)
	}
	say("%s", results(r.end))
	workflow.SetCurrentDetails(ctx, strings.TrimSpace(strings.Join(lines, "\n")))
}

// results returns a table of the results of a run.
func results(end runs.End) string {
	if len(end.Results) == 0 {
		return ""
	}
	out := fmt.Sprintf("\ntrained: epoch %d, %s; final digest `%.12s…`\n\n", end.Best,
		runs.BestOnVal(end.Best, end.Curve), end.FinalDigest)
	out += "| system | split | rate | episodes |\n|---|---|---|---|\n"
	for _, result := range end.Results {
		out += fmt.Sprintf("| %s | %s | %.1f %% | %d |\n",
			result.System, result.Split, 100*result.Rate, result.Episodes)
	}

	return out
}

// link returns a link to the page of a workflow.
func link(ctx workflow.Context, text, id string) string {
	path := strings.ReplaceAll(id, "/", "%2F") // names of runs need no other escape

	return fmt.Sprintf("[%s](/namespaces/%s/workflows/%s)", text, workflow.GetInfo(ctx).Namespace, path)
}

// plain returns a text on one line that Markdown and HTML do not change.
func plain(text string) string {
	var out []rune
	for _, letter := range strings.Join(strings.Fields(text), " ") {
		if strings.ContainsRune("\\`*_{}[]()<>#|!~&", letter) {
			out = append(out, '\\')
		}
		out = append(out, letter)
	}

	return string(out)
}

// code returns lines as a block that Markdown and HTML do not change.
func code(lines string) string { return "    " + strings.ReplaceAll(lines, "\n", "\n    ") }

// remember keeps an epoch that was committed, and forgets older ones than a page shows.
func (r *runState) remember(epoch epochs.Summary) {
	r.past = append(r.past, epoch)
	r.past = r.past[max(0, len(r.past)-epochs.PastEpochs):]
}
