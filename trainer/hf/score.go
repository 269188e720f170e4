package hf

import (
	_ "embed"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/trainer/external"
)

//go:embed score.py
var scoreScript []byte

// precisions are the precisions by the names that programs give them.
var precisions = map[string]domain.Precision{
	"bf16": domain.BFloat16, "bfloat16": domain.BFloat16, "fp16": domain.Float16, "fp32": domain.Float32,
	"float32": domain.Float32,
}

// Scoring returns the script that scores answers with the libraries of an interpreter. template is LLaMA-Factory's name
// of the chat template; "" means the tokenizer's own.
func Scoring(python, precision, template string, devices int) external.Scoring {
	return external.Scoring{
		Python: python, Script: scoreScript, Precision: precisions[precision], Template: template,
		Devices: min(devices, 1),
		Env:     []string{"HF_HUB_OFFLINE=1", "TRANSFORMERS_OFFLINE=1", "TOKENIZERS_PARALLELISM=false"},
	}
}
