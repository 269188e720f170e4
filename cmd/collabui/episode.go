package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
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

// storedEpisode is an episode with everything that was made of it.
type storedEpisode struct {
	Run      string          `json:"run"`
	Epoch    int             `json:"epoch"`
	Episode  runs.Episode    `json:"episode"`
	Topology domain.Topology `json:"topology"`
	Rounds   int             `json:"rounds"`
	Steps    []runs.Step     `json:"steps"`
	Credits  *runs.Credits   `json:"credits,omitempty"` // nil: not graded yet
	Pairs    *runs.Pairs     `json:"pairs,omitempty"`   // nil: not paired yet
}

func (a *app) runEpisode(ctx context.Context, run, place string, step int) error {
	epoch, slot, err := placeOf("EPOCH/SLOT", place, 1)
	if err != nil {
		return err
	}
	b, _, err := a.bucket()
	if err != nil {
		return err
	}
	e, err := readEpisode(ctx, b, runs.Run(run), epoch, slot)
	if err != nil {
		return err
	}
	if step < 0 || step > len(e.Steps) {
		return fault.New(fault.Invalid, "--step must be from 1 to %d, the last step of the episode, not %d",
			len(e.Steps), step)
	}
	if step > 0 {
		return a.print(e.Steps[step-1], func(w io.Writer) { e.full(w, step-1) })
	}

	return a.print(e, e.text)
}

// readEpisode reads an episode of a slot. The error wraps store.ErrNotFound if it has not been played.
func readEpisode(ctx context.Context, b store.Bucket, run runs.Run, epoch, slot int) (storedEpisode, error) {
	out := storedEpisode{Run: string(run), Epoch: epoch}
	s, err := run.Find(ctx, b)
	if err != nil {
		return out, err
	}
	if then, err := run.At(ctx, b, epoch); err == nil {
		s = then
	}
	if out.Rounds = s.Rounds; s.Agents == 1 {
		out.Rounds = 1
	}
	out.Episode, _, err = run.Episode(ctx, b, epoch, slot)
	if errors.Is(err, store.ErrNotFound) {
		return out, fmt.Errorf("slot %d of epoch %d of run %s has no episode yet: %w", slot, epoch, run, err)
	}
	if err != nil {
		return out, err
	}
	if out.Steps, err = out.Episode.ReadSteps(ctx, b); err != nil {
		return out, err
	}
	if out.Topology, _, err = run.Topology(epoch).Read(ctx, b); err != nil {
		return out, err
	}
	if out.Credits, err = unless(run.Credits(epoch, slot).Read(ctx, b)); err != nil {
		return out, err
	}
	out.Pairs, err = unless(run.Pairs(epoch, slot).Read(ctx, b))

	return out, err
}

// unless returns what an object holds, or nil if it was never written.
func unless[T any](v T, _ store.Ref, err error) (*T, error) {
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}

	return &v, err
}

// label returns the critic's label of a cell of a step as a mark, a blank if there is none.
func (e storedEpisode) label(step, cell int) string {
	if e.Credits == nil || step >= len(e.Credits.Steps) || cell >= len(e.Credits.Steps[step].Labels) {
		return " "
	}

	return map[domain.Label]string{domain.Positive: "+", domain.Negative: "-", domain.Uncertain: "?"}[e.Credits.
		Steps[step].Labels[cell]]
}

// pairs returns the pairs of a step, by its number.
func (e storedEpisode) pairs(number int) []domain.Pair {
	var out []domain.Pair
	if e.Pairs == nil {
		return nil
	}
	for _, p := range e.Pairs.Pairs {
		if p.Step == number {
			out = append(out, p)
		}
	}

	return out
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
