package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/internal/method/synth"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
)

func dataCmd(a *app) *cobra.Command {
	return &cobra.Command{Use: "data RUN", Short: "Show the data cards of stage 1: what, how many, from whom, what was dropped and why", Example: "  collabui data curriculum", Args: cobra.ExactArgs(1), RunE: func(c *cobra.Command, args []string) error {
		b, _, err := a.bucket()
		if err != nil {
			return err
		}
		cards, err := cardsOf(c.Context(), b, args[0])
		if err != nil {
			return err
		}
		return a.print(cards, func(w io.Writer) { printCards(w, cards) })
	}}
}

func printCards(w io.Writer, cards []synth.Card) {
	if len(cards) == 0 {
		_, _ = fmt.Fprintln(w, "stage 1 has no levels: it was SFT on expert demonstrations")
	}
	for _, card := range cards {
		_, _ = fmt.Fprintln(w, card.Text())
	}
}

// levelSets reads the data sets of stage 1 that there are.
func levelSets(ctx context.Context, b store.Bucket, run string) (map[int]runs.LevelSet, error) {
	if _, err := b.Get(ctx, runs.Run(run).Spec().Key); err != nil {
		return nil, fmt.Errorf("run %q: %w", run, err)
	}
	out := map[int]runs.LevelSet{}
	for level := 1; level <= 3; level++ {
		set, _, err := runs.Run(run).Level(level).Read(ctx, b)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out[level] = set
	}
	return out, nil
}

func cardsOf(ctx context.Context, b store.Bucket, run string) ([]synth.Card, error) {
	sets, err := levelSets(ctx, b, run)
	out := []synth.Card{}
	for level := 1; level <= 3; level++ {
		if set, ok := sets[level]; ok {
			out = append(out, set.Card)
		}
	}
	return out, err
}
