package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/experiment/recheck"
	"github.com/collabui/collabui/internal/method/credit"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/workers"
	"github.com/collabui/collabui/workers/catalog"
)

func creditCmd(a *app) *cobra.Command {
	c := &cobra.Command{Use: "credit", Short: "Look into credit re-assignment", Example: "  collabui credit check quickstart"}
	check := &cobra.Command{Use: "check RUN", Short: "Compare the critic of a run with the environment's judge and with outcomes", Example: "  collabui credit check quickstart --json\n  collabui credit check mine --repeat 50", Args: cobra.ExactArgs(1),
		Long: "check reads the graded episodes of a run and compares every label with the environment's judge (privileged: it knows the solution), and the labels of executed actions\nwith how the episodes ended. That asks no model. --repeat asks the critic, if it is one, again about some steps: as they are, and with the agents reordered; the calls\nare recorded with the run and count towards its budget. The endpoint's key is this process's."}
	repeat := check.Flags().Int("repeat", 0, "graded steps about which the critic is asked again, twice each")
	check.RunE = func(c *cobra.Command, args []string) error {
		b, e, err := a.bucket()
		if err != nil {
			return err
		}
		s, _, err := runs.Run(args[0]).Spec().Read(c.Context(), b)
		if err != nil {
			return fmt.Errorf("run %q: %w", args[0], err)
		}
		k, err := checkCredit(c.Context(), b, s)
		if err != nil {
			return err
		}
		out := struct {
			Run    string `json:"run"`
			Critic string `json:"critic"`
			*credit.Check
			Again *credit.Consistency `json:"consistency,omitempty"`
		}{Run: s.Name, Critic: rules.CriticName(s, catalog.All{}), Check: k}
		if *repeat > 0 {
			chats, err := workers.ChatEndpoints(e)
			if err != nil {
				return err
			}
			again, err := recheck.Critic(c.Context(), chats, s, catalog.All{}, *repeat)
			if err != nil {
				return err
			}
			out.Again = &again
		}
		return a.print(out, func(w io.Writer) {
			printCheck(w, out.Critic, k)
			if x := out.Again; x != nil && x.Cells > 0 {
				_, _ = fmt.Fprintf(w, "\nasked again about %d steps, %d labelled cells: %.1f %% labelled alike, scores differ by %.2f; with the agents reordered %.1f %%, scores by %.2f\n",
					x.Steps, x.Cells, 100*float64(x.Repeat)/float64(x.Cells), x.RepeatBy, 100*float64(x.Reordered)/float64(x.Cells), x.OrderBy)
			}
		})
	}
	check.Long = longer(check)
	c.AddCommand(check)
	return c
}

// checkCredit reads all graded episodes of a run, committed or not.
func checkCredit(ctx context.Context, b store.Bucket, s spec.Spec) (*credit.Check, error) {
	k := credit.NewCheck()
	for epoch := 1; epoch <= s.Epochs; epoch++ {
		for slot := 1; slot <= s.Slots; slot++ {
			c, _, err := runs.Run(s.Name).Credits(epoch, slot).Read(ctx, b)
			if errors.Is(err, store.ErrNotFound) {
				continue
			}
			if err != nil {
				return k, err
			}
			ep, _, err := store.Read[runs.Episode](ctx, b, c.Episode.Key)
			if err != nil {
				return k, err
			}
			var steps []domain.Step
			for _, r := range ep.Steps {
				st, _, err := store.Read[runs.Step](ctx, b, r.Key)
				if err != nil {
					return k, err
				}
				steps = append(steps, st.Step)
			}
			k.Add(steps, c.Steps, c.Audit, ep.Outcome.Success)
			p, _, err := runs.Run(s.Name).Pairs(epoch, slot).Read(ctx, b)
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				return k, err
			}
			k.AddAudits(p.Audit)
		}
	}
	return k, nil
}

func printCheck(w io.Writer, critic string, k *credit.Check) {
	out := func(format string, args ...any) { _, _ = fmt.Fprintf(w, format+"\n", args...) }
	out("critic: %s · %d steps\n", critic, k.Steps)
	out("%-18s %9s %9s %9s   %9s", "judge \\ critic", "1", "0", "∅", "agreement")
	for i, name := range []string{"1", "0", "∅ (unknown)"} {
		out("%-18s %9d %9d %9d", name, k.All[i][0], k.All[i][1], k.All[i][2])
	}
	line := func(name string, c credit.Confusion) {
		rate, n := c.Agreement()
		said := "-"
		if n > 0 {
			said = fmt.Sprintf("%.1f %%", 100*rate)
		}
		out("%-18s %9d %9d %9d   %9s of %d", name, c[0][0]+c[1][0]+c[2][0], c[0][1]+c[1][1]+c[2][1], c[0][2]+c[1][2]+c[2][2], said, n)
	}
	out("\nby action type")
	for _, kind := range slices.Sorted(maps.Keys(k.ByAction)) {
		line(kind, k.ByAction[kind])
	}
	line("all", k.All)
	out("\nexecuted actions by the episode's outcome: succeeded %d labelled 1, %d labelled 0; failed %d and %d", k.Outcomes[0][0], k.Outcomes[0][1], k.Outcomes[1][0], k.Outcomes[1][1])
	graded := false
	for _, b := range k.Bins {
		if b.Cells > 0 {
			if !graded {
				out("\ncalibration: score, cells, of which right by the judge")
			}
			graded = true
			out("%.1f to %.1f  mean %.2f  %6d  %5.1f %%", b.Low, b.Low+0.1, b.Score, b.Cells, 100*float64(b.Right)/float64(b.Cells))
		}
	}
	if graded {
		out("\n%d of %d right cells were called right again when shuffled among candidates · %d repairs · answers that stayed unreadable %d, incomplete %d · largest spread within one action %.2f", k.Again, k.Blinded, k.Repairs, k.Faults[credit.FaultShape], k.Faults[credit.FaultMissing], k.Spread)
	}
}
