package results

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/cmd/collabui/terminal"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/local/disk"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/policy/infer"
	"github.com/collabui/collabui/internal/policy/tinylm"
	"github.com/collabui/collabui/internal/records/lines"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/trainer/rows"
)

func exportCmd(a *app.App) *cobra.Command {
	var options exportOptions
	cmd := &cobra.Command{
		Use:   "export [RUN|--line LINE] --out DIR",
		Short: "Write a run's data sets and trained system, or the run for another tool",
		Long: `export writes the data sets of stage 1, or with --epoch the preference pairs of an epoch, or its samples
for GRPO, one set per agent: for LLaMA-Factory as sharegpt and alpaca with dataset_info.json, and as conversational
preference JSONL, with the screenshots that were kept. README.md is the card of the data: where they come from, how to
load them with the package datasets, and how to train on them with TRL and LLaMA-Factory.

The folder system contains the trained system: how its agents decide together, their prompts, and the policy of every
agent. README.md explains how to serve, merge and use it. Without --epoch it is the best system of a run that has ended,
otherwise the newest. SHA256SUMS contains the hashes of all files, and is written last.

With --policy it writes only the files of one policy of the store.

With --as it writes the run for another tool: its episodes as trajectories (atif) or logs (inspect), its curves and
results as tables (csv or json).`,
		Example: "  collabui export curriculum --out data\n  collabui export quickstart --epoch 3 --out data\n" +
			"  collabui export quickstart --as inspect --epoch 3 --out logs\n" +
			"  collabui export --policy DIGEST --out model",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runExport(cmd.Context(), a, options, args) },
	}
	options.addFlags(cmd.Flags())

	return cmd
}

func runExport(ctx context.Context, a *app.App, options exportOptions, args []string) error {
	if err := options.check(args); err != nil {
		return err
	}
	options.build = a.Build
	bucket, _, err := a.OpenObjects()
	if err != nil {
		return err
	}
	if options.as != "" {
		conversion, err := exportAs(ctx, bucket, args[0], options)
		if err != nil {
			return err
		}

		return a.Print(conversion, conversion.text)
	}
	if options.policy != "" {
		n, err := exportPolicy(ctx, bucket, options.policy, options.out)
		if err != nil {
			return err
		}
		return a.Print(map[string]any{"out": options.out, "policy": options.policy, "files": n}, func(out io.Writer) {
			terminal.Line(out, "%s in %s", terminal.Count(n, "file"), options.out)
		})
	}
	if options.line != "" {
		entry, err := lines.Line(options.line).Current(ctx, bucket)
		if err != nil {
			return err
		}
		args = []string{entry.System.Run}
		options.epoch = strconv.Itoa(entry.System.Epoch)
	}
	written, err := export(ctx, bucket, args[0], options)
	if err != nil {
		return err
	}

	return a.Print(written, written.text)
}

// exportPolicy writes the files of a policy into a folder that does not exist or is empty, and returns their number.
func exportPolicy(ctx context.Context, bucket store.Bucket, digest, dir string) (int, error) {
	raw, there, err := store.MayBlob(ctx, bucket, digest)
	if err == nil && !there {
		err = store.ErrNotFound
	}
	if err != nil {
		return 0, fmt.Errorf("policy %s: %w", digest, err)
	}
	sums := map[string]string{}
	if artifact, err := domain.DecodeArtifact(raw); err == nil {
		sums = artifact.Sums()
	} else if _, err := tinylm.Decode(raw); err == nil {
		sums["policy.safetensors"] = digest
	} else {
		return 0, fault.New(fault.Invalid, "%s is not a policy", digest)
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		return 0, fault.New(fault.Invalid, "%w", err)
	}

	return len(sums), store.GetFiles(ctx, bucket, sums, dir)
}

// exportSummary describes what an export wrote.
type exportSummary struct {
	Out    string          `json:"out"`
	Files  int             `json:"files"`            // including README.md and SHA256SUMS
	Rows   map[string]int  `json:"rows"`             // number of rows by data set
	System *infer.Exported `json:"system,omitempty"` // nil before the end of stage 1
}

func (x exportSummary) text(out io.Writer) {
	for _, name := range slices.Sorted(maps.Keys(x.Rows)) {
		terminal.Line(out, "%-16s %6d rows", name, x.Rows[name])
	}
	terminal.Line(out, "%s in %s", terminal.Count(x.Files, "file"), x.Out)
	if x.System == nil {
		terminal.Line(out, "no system yet: stage 1 has not ended")
		return
	}
	terminal.Line(out, "system of epoch %d, %s, in %s; README.md explains how to use it",
		x.System.Epoch, terminal.Count(len(x.System.Agents), "agent"), filepath.Join(x.Out, infer.SystemDir))
}

// export writes the data sets and the system of a run. Files written before an error stay; SHA256SUMS is written last.
func export(ctx context.Context, bucket store.Bucket, run string, options exportOptions) (exportSummary, error) {
	summary := exportSummary{Out: options.out, Rows: map[string]int{}}
	sys, err := infer.Find(ctx, bucket, run, options.epoch)
	early := errors.Is(err, infer.ErrNoBase) && options.epoch == "" // stage 1 may have data already
	if err != nil && !early {
		return summary, err
	}
	epoch := sys.Epoch
	if options.epoch == "" {
		epoch = 0
	}
	sets, err := dataSets(ctx, bucket, sys.Spec, epoch)
	if err != nil {
		return summary, err
	}
	if early && len(sets) == 0 {
		return summary, fault.New(fault.Invalid, "run %q has no data of stage 1 yet", run)
	}
	files, err := exportFiles(ctx, bucket, sets)
	if err != nil {
		return summary, err
	}

	if !early {
		written, err := sys.Write(ctx, bucket, filepath.Join(options.out, infer.SystemDir))
		if err != nil {
			return summary, err
		}
		summary.System = &written
	}
	card := dataCard{
		Run: sys.Run, Epoch: epoch, Samples: sys.Spec.Preference == spec.PreferenceGRPO,
		Configs: rows.Configs(files, sets...), System: infer.Readme(sys.Run, summary.System), build: options.build,
	}
	card.describe(sets, files)
	if files["README.md"], err = card.readme(ctx, bucket, sys.Spec); err != nil {
		return summary, err
	}
	if err := writeFiles(options.out, files); err != nil {
		return summary, fault.New(fault.Invalid, "write the export: %w", err)
	}
	for _, set := range sets {
		summary.Rows[set.Name] = len(set.Pairs)
	}
	summary.Files, err = infer.Sums(options.out)

	return summary, err
}

func writeFiles(dir string, files map[string][]byte) error {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := disk.Write(dir, name, files[name]); err != nil {
			return err
		}
	}

	return nil
}
