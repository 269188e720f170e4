// Package llamafactory updates language models with `llamafactory-cli train`: SFT and DPO, of LoRA adapters or all
// parameters. It renders data and configuration, reads progress and results, and explains failures; trainer/external
// runs the program.
package llamafactory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/trainer"
	"github.com/collabui/collabui/trainer/external"
	"github.com/collabui/collabui/trainer/hf"
)

// Tool drives llamafactory-cli.
type Tool struct {
	hf.Common
	// Bucket holds the screenshots.
	Bucket store.Bucket
	// Program is llamafactory-cli; "" means the one on the PATH.
	Program string
	// Python is an interpreter that has the program's packages; "" means the one in the program's first line.
	Python string
}

var _ external.Tool = (*Tool)(nil)

// Base returns the base model of a job's options and its folder.
func (t *Tool) Base(options json.RawMessage) (domain.BaseModel, string, error) {
	return hf.Base(options, DefaultOptions())
}

// Render writes data/ and job.yaml. The same job yields the same bytes, so running the command again resumes the job.
func (t *Tool) Render(ctx context.Context, folder external.Folder, job trainer.Job) (external.Command, error) {
	options, err := hf.Decode(job.Options, DefaultOptions())
	if err != nil {
		return external.Command{}, err
	}
	if err := supported(folder, job, options); err != nil {
		return external.Command{}, err
	}
	program, err := t.program()
	if err != nil {
		return external.Command{}, err
	}

	dataset, err := t.data(ctx, folder, job, options)
	if err != nil {
		return external.Command{}, err
	}
	total := job.Steps
	if total == 0 {
		total = max(1, dataset.rows/job.Params.BatchSize) * job.Params.Passes
	}

	conf, err := configuration(folder, job, options, dataset.name, total)
	if err != nil {
		return external.Command{}, err
	}
	file, err := write(folder, conf, dataset.rows)
	if err != nil {
		return external.Command{}, err
	}

	cmd := t.command(folder, options, program)
	cmd.Args, cmd.Total, cmd.Skipped = []string{program, "train", file}, total, dataset.skipped

	return cmd, nil
}

// supported refuses jobs that the program cannot do.
func supported(folder external.Folder, job trainer.Job, options Options) error {
	batch := options.PerDevice * max(1, options.Devices)
	switch {
	case job.Objective != trainer.SFT && job.Objective != trainer.DPO:
		return fault.New(fault.Invalid, "the trainer llamafactory supports sft and dpo, not %q", job.Objective)
	case job.Params.BatchSize%batch != 0:
		return fault.New(fault.Invalid,
			"a batch of %d rows is not a multiple of per_device × devices = %d", job.Params.BatchSize, batch)
	case strings.ContainsAny(folder.Path, " \t"):
		return fault.New(fault.Invalid,
			"the folder %q contains a blank, at which torchrun splits: start the worker with another --work",
			folder.Path)
	}

	return nil
}

// write writes the configuration, and the number of rows for Alarm. It returns the file of the configuration.
func write(folder external.Folder, conf map[string]any, rows int) (string, error) {
	raw, err := yaml.Marshal(conf)
	if err != nil {
		return "", fault.As(fault.Fatal, err)
	}

	file := filepath.Join(folder.Path, "job.yaml")
	err = errors.Join(
		os.WriteFile(file, raw, 0o644),
		os.WriteFile(filepath.Join(folder.Path, rowsFile), []byte(strconv.Itoa(rows)), 0o644),
	)
	if err != nil {
		return "", fault.New(fault.Transient, "write the configuration: %w", err)
	}

	return file, nil
}

// packages are those whose versions a report holds.
var packages = []string{
	"llamafactory", "torch", "transformers", "peft", "trl", "datasets", "accelerate", "tokenizers", "deepspeed",
}

// command returns what the options say about the command.
func (t *Tool) command(folder external.Folder, options Options, program string) external.Command {
	cmd := external.Command{
		Kind:    domain.ArtifactFull,
		Devices: options.Devices, PerDevice: folder.PerDevice(options.PerDevice),
		Stall:    time.Duration(options.Stall * float64(time.Minute)),
		Versions: func() map[string]string { return external.Versions(t.python(program), packages...) },
		Env:      append(hf.Env(folder), "TOKENIZERS_PARALLELISM=false"),
		Drop:     "|USE_V1=|LLAMABOARD_|LLAMAFACTORY_VERBOSITY=|FORCE_TORCHRUN=",
	}
	if options.Finetuning == lora {
		cmd.Kind = domain.ArtifactLoRA
		cmd.Rank = options.Rank
	}
	if options.Devices > 1 || options.DeepSpeed != "" {
		cmd.Env = append(cmd.Env, "FORCE_TORCHRUN=1", fmt.Sprintf("NPROC_PER_NODE=%d", max(1, options.Devices)))
	}

	return cmd
}

// Points reads the program's log.
func (t *Tool) Points(folder external.Folder) []domain.TrainPoint {
	return hf.Points(folder, "trainer_log.jsonl", "current_steps")
}

// Result returns the policy once the program has written its results, reached its last step, and left whole weights.
func (t *Tool) Result(folder external.Folder) (map[string]string, map[string]float64, bool) {
	raw, err := os.ReadFile(filepath.Join(folder.Out(), "train_results.json"))
	state, ok := hf.ReadState(folder.Out())
	if err != nil || !ok || state.Step != state.Max {
		return nil, nil, false
	}
	files, _, err := hf.Policy(folder, folder.Out())

	return files, hf.Metrics(state, raw), err == nil
}
