package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/fault"
	"github.com/collabui/collabui/internal/record"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/synth"
	"github.com/collabui/collabui/internal/tinylm"
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
func levelSets(ctx context.Context, b store.Bucket, run string) (map[int]record.LevelSet, error) {
	if _, err := b.Get(ctx, store.SpecKey(run)); err != nil {
		return nil, fmt.Errorf("run %q: %w", run, err)
	}
	out := map[int]record.LevelSet{}
	for level := 1; level <= 3; level++ {
		set, _, err := store.Read[record.LevelSet](ctx, b, store.FineTuneKey(run, "levels", level))
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

func importCmd(a *app) *cobra.Command {
	return &cobra.Command{Use: "import FILE", Short: "Bring demonstrations, preference pairs or a policy of one's own into the store", Example: "  collabui import pairs.jsonl\n  collabui import policy.safetensors", Args: cobra.ExactArgs(1),
		Long: "import checks a file, stores it by content and prints the digest by which a specification names it: finetune.data.level1, .level2 or .level3 for JSON lines,\nfinetune.base for a policy. A line is {\"prompt\":…, \"chosen\":…, \"rejected\":…} (texts or conversations) or {\"messages\":[…]}. Nothing is stored of a file that has a broken line.",
		RunE: func(c *cobra.Command, args []string) error {
			raw, err := os.ReadFile(args[0])
			if err != nil {
				return fault.New(fault.Invalid, "read the file: %w", err)
			}
			out := imported{File: args[0], Kind: "policy"}
			if _, err := tinylm.Decode(raw); err != nil {
				out.Kind = "rows"
				rows, err := synth.ReadRows(args[0], raw, 1)
				if err != nil {
					return fault.New(fault.Invalid, "%w; a policy of the embedded trainer it is not either", err)
				}
				out.Rows = len(rows)
				out.Pairs = len(slices.DeleteFunc(rows, func(p domain.Pair) bool { return p.Rejected == "" }))
			}
			b, _, err := a.bucket()
			if err != nil {
				return err
			}
			ref, err := store.PutBlob(c.Context(), b, raw)
			if err != nil {
				return err
			}
			out.Digest = ref.SHA256
			return a.print(out, func(w io.Writer) {
				if out.Kind == "policy" {
					_, _ = fmt.Fprintf(w, "a policy; begin stage 1 with it by `finetune: {base: %s}`\n", out.Digest)
					return
				}
				_, _ = fmt.Fprintf(w, "%d rows, %d of them with a rejected answer; train on them by `finetune: {levels: […], data: {level3: %s}}`, or level1, level2\n", out.Rows, out.Pairs, out.Digest)
			})
		}}
}

type imported struct {
	File   string `json:"file"`
	Kind   string `json:"kind"`
	Digest string `json:"digest"`
	Rows   int    `json:"rows,omitempty"`
	Pairs  int    `json:"pairs,omitempty"`
}
