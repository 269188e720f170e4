package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/internal/view"
)

func episodeCmd(a *app) *cobra.Command {
	var step int
	c := &cobra.Command{
		Use:   "episode RUN EPOCH/SLOT",
		Short: "Show an episode: screens in words, what every agent said, votes, labels and pairs",
		Long: `episode shows an episode of the store: for every step what was on the screen, the answers of all agents
in all rounds with the critic's labels, the vote, what was executed, and how many pairs came of it. --step shows one
step in full: the history, all elements, every answer with its reason, and the pairs.

An answer is marked + if the critic called it right, - if wrong, ? if it was not sure; * is what was executed.`,
		Example: "  collabui episode quickstart 2/17\n  collabui episode quickstart 2/17 --step 3\n" +
			"  collabui episode quickstart 2/17 --json",
		Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			return a.runEpisode(c.Context(), args[0], args[1], step)
		},
	}
	c.Flags().IntVar(&step, "step", 0, "show this `STEP` in full, from 1")

	return c
}

type played = view.Episode

// storedEpisode is an episode as the terminal shows it.
type storedEpisode struct{ played }

func (a *app) runEpisode(ctx context.Context, run, place string, step int) error {
	epoch, slot, err := placeOf("EPOCH/SLOT", place, 1)
	if err != nil {
		return err
	}
	b, _, err := a.bucket()
	if err != nil {
		return err
	}
	read, err := view.ReadEpisode(ctx, b, runs.Run(run), epoch, slot)
	if err != nil {
		return err
	}
	e := storedEpisode{read}
	if step < 0 || step > len(e.Steps) {
		return fault.New(fault.Invalid, "--step must be from 1 to %d, the last step of the episode, not %d",
			len(e.Steps), step)
	}
	if step > 0 {
		return a.print(e.Steps[step-1], func(w io.Writer) { e.full(w, step-1) })
	}

	return a.print(e, e.text)
}

// label returns the critic's label of a cell of a step as a mark, a blank if there is none.
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
