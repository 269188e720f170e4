// Package hf reads the folders that training programs built on Hugging Face's transformers write: checkpoints, their
// state, curves, adapters and models. Tools of such programs share it.
package hf

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/trainer"
	"github.com/collabui/collabui/trainer/external"
)

// Common implements the methods of external.Tool that are the same for all such programs. Tools embed it.
type Common struct{}

// Checkpoints returns the complete checkpoints of a job's folder.
func (Common) Checkpoints(folder external.Folder) map[int]string { return Checkpoints(folder) }

// Policy returns the files of the policy in a checkpoint, and the metrics at that step.
func (Common) Policy(folder external.Folder, dir string) (map[string]string, map[string]float64, error) {
	return Policy(folder, dir)
}

// Options are the options of a tool.
type Options interface {
	// Check reports which options are impossible. batches are the possible numbers of rows of an optimiser step.
	Check(must trainer.Must, batches ...int)
	// BaseModel returns the folder of the base model.
	BaseModel() string
}

// Decode reads the options of a job over their defaults and checks them. An impossible option is an invalid fault.
func Decode[O Options](raw json.RawMessage, o O) (O, error) {
	if err := json.Unmarshal(raw, &o); err != nil {
		return o, fault.New(fault.Invalid, "trainer.options: %w", err)
	}

	var err error
	o.Check(func(ok bool, field, expected string, args ...any) {
		if !ok && err == nil {
			err = fault.New(fault.Invalid, "trainer.options.%s: expected %s", field, fmt.Sprintf(expected, args...))
		}
	})

	return o, err
}

// Base returns the base model of a job's options and its folder.
func Base[O Options](raw json.RawMessage, defaults O) (domain.BaseModel, string, error) {
	o, err := Decode(raw, defaults)
	if err != nil {
		return domain.BaseModel{}, "", err
	}
	baseModel, err := external.ModelOf(o.BaseModel())

	return baseModel, o.BaseModel(), err
}

// Env returns the environment in which such programs read only local files, and print without delay.
func Env(folder external.Folder) []string {
	return []string{
		"HF_HUB_OFFLINE=1",
		"TRANSFORMERS_OFFLINE=1",
		"HF_DATASETS_OFFLINE=1",
		"HF_DATASETS_CACHE=" + filepath.Join(folder.Path, "cache"),
		"PYTHONUNBUFFERED=1",
	}
}
