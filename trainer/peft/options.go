package peft

import (
	"encoding/json"
	"strings"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/trainer"
	"github.com/collabui/collabui/trainer/hf"
)

// Options are `trainer.options` of a specification with `trainer.name: peft`.
type Options struct {
	hf.ScriptOptions `yaml:",inline"`
	// Together lets the jobs of a worker that have the same base model, precision and devices share one process, which
	// loads the base once. Each has its own adapter and optimiser.
	Together bool `json:"together" yaml:"together"`
	// Alpha is the alpha of LoRA; 0 means twice the rank.
	Alpha int `json:"alpha" yaml:"alpha"`
	// Target lists the modules that get LoRA, separated by commas.
	Target string `json:"target" yaml:"target"`
}

// DefaultOptions returns options for a 7B model on one GPU.
func DefaultOptions() Options {
	return Options{ScriptOptions: hf.DefaultScriptOptions(), Target: "all"}
}

// Check reports which options are impossible. batches are the numbers of rows of an optimiser step.
func (o Options) Check(must trainer.Must, batches ...int) {
	o.ScriptOptions.Check(must, batches...)
	must(o.Alpha >= 0, "alpha", "a whole number from 0")
	must(o.Target != "" && !strings.ContainsAny(o.Target, " \t\n"), "target",
		"all, or modules separated by commas, not %q", o.Target)
}

// Base returns the base model of a job's options and its folder.
func (t *Tool) Base(options json.RawMessage) (domain.BaseModel, string, error) {
	return hf.Base(options, DefaultOptions())
}
