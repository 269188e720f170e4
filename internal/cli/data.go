package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/fault"
	"github.com/collabui/collabui/internal/record"
	"github.com/collabui/collabui/internal/spec"
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

func exportCmd(a *app) *cobra.Command {
	c := &cobra.Command{Use: "export RUN --out DIR", Short: "Write the data sets of a run for other trainers, and a sheet of samples to judge", Args: cobra.ExactArgs(1), Example: "  collabui export curriculum --out data\n  collabui export quickstart --epoch 3 --out data",
		Long: "export writes the data sets of stage 1, or with --epoch the preference pairs of an epoch, one set per agent: for LLaMA-Factory as sharegpt and alpaca with dataset_info.json,\nand as conversational preference JSONL; screenshots beside them where they were kept. sample.csv and sample.html are items drawn by the run's seed for a person to judge."}
	dir := c.Flags().String("out", "", "`folder` to write into; it is made, and must be empty")
	epoch := c.Flags().Int("epoch", 0, "the pairs of this epoch; 0: the data of stage 1")
	size := c.Flags().Int("sample", 200, "items of the sheet")
	c.RunE = func(c *cobra.Command, args []string) error {
		if *dir == "" {
			return fault.New(fault.Invalid, "give --out, the folder to write into")
		}
		if old, err := os.ReadDir(*dir); err == nil && len(old) > 0 {
			return fault.New(fault.Invalid, "%s is not empty: give another folder", *dir)
		}
		b, _, err := a.bucket()
		if err != nil {
			return err
		}
		sets, err := exported(c.Context(), b, args[0], *epoch)
		if err != nil {
			return err
		}
		s, _, err := store.Read[spec.Spec](c.Context(), b, store.SpecKey(args[0]))
		if err != nil {
			return err
		}
		files, err := synth.Export(sets)
		if err != nil {
			return fault.As(fault.Fatal, err)
		}
		items := synth.Sample(sets, *size, s.Seed)
		if files["sample.csv"], err = synth.SheetCSV(items); err == nil {
			files["sample.html"], err = synth.SheetHTML(items)
		}
		if err == nil {
			err = images(c.Context(), b, sets, files)
		}
		if err != nil {
			return err
		}
		if err := writeFiles(*dir, files); err != nil {
			return fault.New(fault.Invalid, "write the export: %w", err)
		}
		rows := map[string]int{}
		for _, x := range sets {
			rows[x.Name] = len(x.Rows)
		}
		return a.print(map[string]any{"out": *dir, "files": len(files), "rows": rows, "sample": len(items)}, func(w io.Writer) {
			for _, x := range sets {
				_, _ = fmt.Fprintf(w, "%-16s %6d rows\n", x.Name, len(x.Rows))
			}
			_, _ = fmt.Fprintf(w, "%d files in %s; %d items to judge in sample.html and sample.csv\n", len(files), *dir, len(items))
		})
	}
	return c
}

// exported gathers the data sets of stage 1, or of an epoch.
func exported(ctx context.Context, b store.Bucket, run string, epoch int) ([]synth.Set, error) {
	s, _, err := store.Read[spec.Spec](ctx, b, store.SpecKey(run))
	if err != nil {
		return nil, fmt.Errorf("run %q: %w", run, err)
	}
	tmpl, err := activities.Template(s)
	if err != nil {
		return nil, err
	}
	var out []synth.Set
	sys := tmpl.System()
	if epoch > 0 {
		e, _, err := store.Read[record.Epoch](ctx, b, store.EpochKey(run, epoch))
		if err != nil {
			return nil, fmt.Errorf("epoch %d of run %q: %w", epoch, run, err)
		}
		for i, ref := range e.Updates {
			u, _, err := store.Read[record.Update](ctx, b, ref.Key)
			if err != nil {
				return nil, err
			}
			d, _, err := store.Read[record.Dataset](ctx, b, u.Dataset.Key)
			if err != nil {
				return nil, err
			}
			rows, err := activities.ReadPairs(ctx, b, d.Body)
			if err != nil {
				return nil, err
			}
			out = append(out, synth.Set{Name: fmt.Sprintf("epoch%d-agent%d", epoch, i), System: sys, Rows: rows})
		}
		return out, nil
	}
	sets, err := levelSets(ctx, b, run)
	if err != nil {
		return nil, err
	}
	for level := 1; level <= 3; level++ {
		set, ok := sets[level]
		if !ok {
			continue
		}
		rows, err := activities.ReadPairs(ctx, b, set.Body)
		if err != nil {
			return nil, err
		}
		out = append(out, synth.Set{Name: fmt.Sprintf("level%d", level), System: synth.SystemOf(rows, sys), Rows: rows})
	}
	if len(out) > 0 {
		return out, nil
	}
	rows, err := demonstrations(ctx, b, run)
	if err == nil && len(rows) == 0 {
		err = fault.New(fault.Invalid, "run %q has no data of stage 1 yet", run)
	}
	return []synth.Set{{Name: "demonstrations", System: sys, Rows: rows}}, err
}

// demonstrations are the data of a stage 1 without levels.
func demonstrations(ctx context.Context, b store.Bucket, run string) (rows []domain.Pair, err error) {
	for i := 0; ; i++ {
		d, _, err := store.Read[record.Demonstration](ctx, b, store.FineTuneKey(run, "demonstrations", i))
		if errors.Is(err, store.ErrNotFound) {
			return rows, nil
		}
		if err != nil {
			return nil, err
		}
		rows = append(rows, d.Pairs...)
	}
}

// images adds the screenshots that the sets name.
func images(ctx context.Context, b store.Bucket, sets []synth.Set, files map[string][]byte) error {
	for _, x := range sets {
		for _, p := range x.Rows {
			if p.Image == "" || files[synth.ImageFile(p.Image)] != nil {
				continue
			}
			raw, err := store.GetBlob(ctx, b, p.Image)
			if err != nil {
				return err
			}
			files[synth.ImageFile(p.Image)] = raw
		}
	}
	return nil
}

func writeFiles(dir string, files map[string][]byte) error {
	for _, name := range sortedKeys(files) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, files[name], 0o644); err != nil {
			return err
		}
	}
	return nil
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
