package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/method/synth"
	"github.com/collabui/collabui/internal/policy/infer"
	"github.com/collabui/collabui/internal/policy/tinylm"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/trainer/rows"
)

func exportCmd(a *app) *cobra.Command {
	c := &cobra.Command{Use: "export [RUN] --out DIR", Short: "Write a run's data sets for other trainers, a sheet of samples to judge, and its trained system", Args: cobra.MaximumNArgs(1), Example: "  collabui export curriculum --out data\n  collabui export quickstart --epoch 3 --out data\n  collabui export --policy DIGEST --out model",
		Long: "export writes the data sets of stage 1, or with --epoch the preference pairs of an epoch, one set per agent: for LLaMA-Factory as sharegpt and alpaca with dataset_info.json,\nand as conversational preference JSONL; screenshots beside them where they were kept. sample.csv and sample.html are items drawn by the run's seed for a person to judge.\nBelow system/ stands the trained system: how its agents decide together, their prompts, and every agent's policy; README.md there says how to serve, merge and use it.\nWithout --epoch it is the best one of a run that has ended, else the newest. SHA256SUMS holds the hashes of all files, and is written last.\nWith --policy it writes the files of one policy of the store and nothing else."}
	dir := c.Flags().String("out", "", "`folder` to write into; it is made, and must be empty")
	epoch := c.Flags().String("epoch", "", "the system and the pairs of this epoch: a number or best; base: the base policy and the data of stage 1")
	policy := c.Flags().String("policy", "", "instead of a run: the files of the policy with this `DIGEST`")
	size := c.Flags().Int("sample", 200, "items of the sheet")
	c.RunE = func(c *cobra.Command, args []string) error {
		if *dir == "" {
			return fault.New(fault.Invalid, "give --out, the folder to write into")
		}
		if *size < 0 {
			return fault.New(fault.Invalid, "--sample must be from 0, not %d", *size)
		}
		if old, err := os.ReadDir(*dir); err == nil && len(old) > 0 {
			return fault.New(fault.Invalid, "%s is not empty: give another folder", *dir)
		}
		if (*policy == "") != (len(args) == 1) {
			return fault.New(fault.Invalid, "give a run, or --policy")
		}
		b, _, err := a.bucket()
		if err != nil {
			return err
		}
		if *policy != "" {
			n, err := exportPolicy(c.Context(), b, *policy, *dir)
			if err != nil {
				return err
			}
			return a.print(map[string]any{"out": *dir, "policy": *policy, "files": n}, func(w io.Writer) { _, _ = fmt.Fprintf(w, "%d files in %s\n", n, *dir) })
		}
		x, err := export(c.Context(), b, args[0], *epoch, *dir, *size)
		if err != nil {
			return err
		}
		return a.print(x, func(w io.Writer) {
			for _, name := range sortedKeys(x.Rows) {
				_, _ = fmt.Fprintf(w, "%-16s %6d rows\n", name, x.Rows[name])
			}
			_, _ = fmt.Fprintf(w, "%d files in %s; %d items to judge in sample.html and sample.csv\n", x.Files, x.Out, x.Sample)
			if x.System == nil {
				_, _ = fmt.Fprintln(w, "no system yet: stage 1 has not ended")
				return
			}
			_, _ = fmt.Fprintf(w, "system of epoch %d, %d agents, in %s; README.md says how to use it\n", x.System.Epoch, len(x.System.Agents), filepath.Join(x.Out, infer.SystemDir))
		})
	}
	return c
}

// exportPolicy writes the files of a policy into a folder that is not there, or empty; it gives their number.
func exportPolicy(ctx context.Context, b store.Bucket, digest, dir string) (int, error) {
	raw, err := store.GetBlob(ctx, b, digest)
	if err != nil {
		return 0, fmt.Errorf("policy %s: %w", digest, err)
	}
	sums := map[string]string{}
	if art, err := domain.DecodeArtifact(raw); err == nil {
		sums = art.Sums()
	} else if _, err := tinylm.Decode(raw); err == nil {
		sums["policy.safetensors"] = digest
	} else {
		return 0, fault.New(fault.Invalid, "%s is no policy", digest)
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		return 0, fault.New(fault.Invalid, "%w", err)
	}
	return len(sums), store.GetFiles(ctx, b, sums, dir)
}

// outcome is what an export wrote.
type outcome struct {
	Out    string          `json:"out"`
	Files  int             `json:"files"` // with README.md and SHA256SUMS
	Rows   map[string]int  `json:"rows"`  // by data set
	Sample int             `json:"sample"`
	System *infer.Exported `json:"system,omitempty"` // none before the end of stage 1
}

// export writes data sets and system of a run into a folder. What it wrote before an error stays; SHA256SUMS is last.
func export(ctx context.Context, b store.Bucket, run, which, dir string, size int) (outcome, error) {
	x := outcome{Out: dir, Rows: map[string]int{}}
	sys, err := infer.Find(ctx, b, run, which)
	none := errors.Is(err, infer.ErrNoBase) && which == ""
	if err != nil && !none {
		return x, err
	}
	epoch := sys.Epoch
	if which == "" {
		epoch = 0
	}
	sets, err := dataSets(ctx, b, sys.Spec, epoch)
	if err == nil && none && len(sets) == 0 {
		err = fault.New(fault.Invalid, "run %q has no data of stage 1 yet", run)
	}
	if err != nil {
		return x, err
	}
	files, err := rows.Export(sets...)
	if err != nil {
		return x, fault.As(fault.Fatal, err)
	}
	items := drawSample(sets, size, sys.Spec.Seed)
	if files["sample.csv"], err = sampleCSV(items); err == nil {
		files["sample.html"], err = sampleHTML(items)
	}
	if err == nil {
		err = images(ctx, b, sets, files)
	}
	if err != nil {
		return x, err
	}
	if !none {
		written, err := sys.Write(ctx, b, filepath.Join(dir, infer.SystemDir))
		if err != nil {
			return x, err
		}
		x.System = &written
	}
	files["README.md"] = []byte(infer.Readme(run, x.System))
	if err := writeFiles(dir, files); err != nil {
		return x, fault.New(fault.Invalid, "write the export: %w", err)
	}
	for _, set := range sets {
		x.Rows[set.Name] = len(set.Pairs)
	}
	x.Sample = len(items)
	x.Files, err = infer.Sums(dir)
	return x, err
}

// dataSets gathers the data sets of stage 1, or of an epoch; of a stage 1 that has none, nothing.
func dataSets(ctx context.Context, b store.Bucket, s spec.Spec, epoch int) ([]rows.Set, error) {
	tmpl, err := rules.Template(s)
	if err != nil {
		return nil, err
	}
	var out []rows.Set
	sys, run := tmpl.System(), s.Name
	if epoch > 0 {
		e, _, err := runs.Run(run).Epoch(epoch).Read(ctx, b)
		if err != nil {
			return nil, fmt.Errorf("epoch %d of run %q: %w", epoch, run, err)
		}
		for i, ref := range e.Updates {
			u, _, err := store.Read[runs.Update](ctx, b, ref.Key)
			if err != nil {
				return nil, err
			}
			d, _, err := store.Read[runs.Dataset](ctx, b, u.Dataset.Key)
			if err != nil {
				return nil, err
			}
			pairs, err := runs.ReadPairs(ctx, b, d.Body)
			if err != nil {
				return nil, err
			}
			out = append(out, rows.Set{Name: fmt.Sprintf("epoch%d-agent%d", epoch, i), System: sys, Pairs: pairs})
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
		pairs, err := runs.ReadPairs(ctx, b, set.Body)
		if err != nil {
			return nil, err
		}
		out = append(out, rows.Set{Name: fmt.Sprintf("level%d", level), System: synth.SystemOf(pairs, sys), Pairs: pairs})
	}
	if len(out) > 0 {
		return out, nil
	}
	pairs, err := demonstrations(ctx, b, run)
	if err != nil || len(pairs) == 0 {
		return nil, err
	}
	return []rows.Set{{Name: "demonstrations", System: sys, Pairs: pairs}}, nil
}

// demonstrations are the data of a stage 1 without levels.
func demonstrations(ctx context.Context, b store.Bucket, run string) (pairs []domain.Pair, err error) {
	for i := 0; ; i++ {
		d, _, err := runs.Run(run).Demonstration(i).Read(ctx, b)
		if errors.Is(err, store.ErrNotFound) {
			return pairs, nil
		}
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, d.Pairs...)
	}
}

// images adds the screenshots that the sets name.
func images(ctx context.Context, b store.Bucket, sets []rows.Set, files map[string][]byte) error {
	for _, x := range sets {
		for _, p := range x.Pairs {
			if p.Image == "" || files[rows.ImageFile(p.Image)] != nil {
				continue
			}
			raw, err := store.GetBlob(ctx, b, p.Image)
			if err != nil {
				return err
			}
			files[rows.ImageFile(p.Image)] = raw
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
