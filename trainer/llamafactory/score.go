package llamafactory

import (
	"encoding/json"
	"fmt"

	"github.com/collabui/collabui/trainer"
	"github.com/collabui/collabui/trainer/external"
	"github.com/collabui/collabui/trainer/hf"
)

var _ external.Scorer = (*Tool)(nil)

// Scoring returns how answers are scored: with the program's own libraries and chat template.
func (t *Tool) Scoring(raw json.RawMessage) (external.Scoring, error) {
	options, err := hf.Decode(raw, DefaultOptions())
	if err != nil {
		return external.Scoring{}, err
	}
	program, err := t.program()
	if err != nil {
		return external.Scoring{}, err
	}
	python := interpreter(program)
	if python == "" {
		python = t.Python
	}
	if python == "" {
		return external.Scoring{}, fmt.Errorf(
			"%w: %s names no Python in its first line, and COLLABUI_PYTHON is not set", trainer.ErrNoScores, program)
	}

	return hf.Scoring(python, options.Precision, options.Template, options.Devices), nil
}
