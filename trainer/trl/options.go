package trl

import (
	"encoding/json"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/trainer/hf"
)

// Options are `trainer.options` of a specification with `trainer.name: trl`.
type Options = hf.ScriptOptions

// DefaultOptions returns options for a 7B model on one GPU.
func DefaultOptions() Options { return hf.DefaultScriptOptions() }

// Base returns the base model of a job's options and its folder.
func (t *Tool) Base(options json.RawMessage) (domain.BaseModel, string, error) {
	return hf.Base(options, DefaultOptions())
}
