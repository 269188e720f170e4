package status

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/collabui/collabui/cmd/collabui/terminal"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/records/runs"
)

// talkText prints what talking is worth on unseen words, for a run whose agents may speak.
func (st Report) talkText(out io.Writer) {
	n := st.Spec.Agents
	if !st.Spec.Speech || n < 2 {
		return
	}
	alone := "one agent that sees the whole screen"
	if st.Spec.Views.Divided() {
		alone = fmt.Sprintf("one agent that sees one of %d parts of the screen", n)
	}
	lines := []struct{ name, system, meaning string }{
		{"alone", rules.NameBase1, alone},
		{"silent", rules.SilentName(n), fmt.Sprintf("%d agents that vote and hear nothing", n)},
		{"talking", rules.BaseName(n), "the same agents with their messages"},
		{
			"trained", rules.TrainedName(n),
			"after " + terminal.Count(st.Best, "epoch") + " of credit for what an answer does",
		},
	}

	const width = 40 // of a bar
	heading := false
	for _, line := range lines {
		at := slices.IndexFunc(st.Results, func(result runs.Result) bool {
			return result.System == line.system && result.Split == domain.SplitTestSeeds && result.Environment == ""
		})
		if at < 0 {
			continue
		}
		if !heading {
			terminal.Line(out, "\nwhat talking is worth, on words that no agent has seen (%s)", domain.SplitTestSeeds)
			heading = true
		}
		rate := st.Results[at].Rate
		bar := strings.Repeat("█", int(width*rate+0.5))
		terminal.Line(out, "  %-8s %5.1f %%  %-*s  %s", line.name, 100*rate, width, bar, line.meaning)
	}
	if !heading {
		return
	}
	if st.View != "" {
		terminal.Line(out, "the messages that mattered, with and without them: %s/messages", st.View)
	}
}
