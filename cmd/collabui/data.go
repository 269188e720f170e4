package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/method/synth"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
)

func dataCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "data RUN",
		Short:   "Show the data cards of stage 1: what was made, how much, by whom, and what was dropped and why",
		Example: "  collabui data curriculum",
		Args:    cobra.ExactArgs(1),
		RunE:    func(c *cobra.Command, args []string) error { return a.runData(c.Context(), args[0]) },
	}
}

func (a *app) runData(ctx context.Context, run string) error {
	b, _, err := a.bucket()
	if err != nil {
		return err
	}
	cards, err := readCards(ctx, b, run)
	if err != nil {
		return err
	}

	s, err := runs.Run(run).Find(ctx, b)
	if err != nil {
		return err
	}

	return a.print(cards, func(w io.Writer) { printCards(w, s.FineTune, cards) })
}

// readCards returns the data cards of the levels of stage 1.
func readCards(ctx context.Context, b store.Bucket, run string) ([]synth.Card, error) {
	sets, err := runs.Run(run).Levels(ctx, b)
	cards := []synth.Card{} // not null as JSON
	for _, set := range sets {
		cards = append(cards, set.Card)
	}

	return cards, err
}

// printCards prints data cards, or why there are none.
func printCards(w io.Writer, of spec.FineTune, cards []synth.Card) {
	switch {
	case len(cards) > 0:
	case len(of.Levels) > 0:
		say(w, "no level of stage 1 has its data yet")
	case of.Base != "":
		say(w, "stage 1 trains nothing: the run begins with the policy of finetune.base")
	default:
		say(w, "stage 1 has no levels: it is SFT on expert demonstrations")
	}
	for _, card := range cards {
		say(w, "%s", card.Text())
	}
}
