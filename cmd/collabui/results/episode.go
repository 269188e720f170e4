package results

import (
	"context"
	"fmt"
	"strings"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/internal/view"
)

type played = view.Episode

// storedEpisode is an episode as the terminal shows it.
type storedEpisode struct{ played }

// showEpisode prints an episode.
func showEpisode(ctx context.Context, a *app.App, b store.Bucket, run, place string) error {
	epoch, slot, err := app.ParsePlace("show RUN", place, 1)
	if err != nil {
		return fault.New(fault.Invalid, "%q is no part of run %s: expected EPOCH/SLOT, such as 1/4, stage-1 or critic",
			place, run)
	}
	read, err := view.ReadEpisode(ctx, b, runs.Run(run), epoch, slot)
	if err != nil {
		return err
	}
	e := storedEpisode{read}

	return a.Print(e, e.text)
}

// label returns the critic's label of a cell of a step as a mark, or a blank if there is no label.
func (e storedEpisode) label(step, cell int) string {
	label, ok := e.Label(step, cell)
	if !ok {
		return " "
	}

	return map[domain.Label]string{domain.Positive: "+", domain.Negative: "-", domain.Uncertain: "?"}[label]
}

// edges returns a graph in a few words.
func edges(t domain.Topology) string {
	if len(t.Edges) == 0 {
		return "no agent reads another"
	}
	var out []string
	for _, e := range t.Edges {
		out = append(out, fmt.Sprintf("%d→%d", e[0], e[1]))
	}

	return strings.Join(out, " ")
}
