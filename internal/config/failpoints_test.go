package config

import (
	"testing"

	"github.com/collabui/collabui/internal/store"
)

func TestThePlaceOfAKeyHasNoNamesAndNumbers(t *testing.T) {
	digest := store.Sum(nil)
	for key, want := range map[string]string{
		"blobs/" + digest:                                        "blobs",
		"runs/q-1/spec.json":                                     "spec",
		"runs/q-1/epochs/0001/epoch.json":                        "epochs/epoch",
		"runs/q/epochs/0012/episodes/0003/a2/steps/0004.json":    "epochs/episodes/steps",
		"runs/q/epochs/0012/agents/3/job-checkpoint-000020.json": "epochs/agents/job-checkpoint",
		"runs/q/evals/epoch-0001/trained-4/val/0007.json":        "evals",
		"runs/q/evals/epoch-0001/trained-4/val/result.json":      "evals/result",
		"runs/q/calls/ab/" + digest + ".json":                    "calls",
		"runs/q/finetune/levels/0001.json":                       "finetune/levels",
	} {
		if got := failpointPlace(key); got != want {
			t.Errorf("failpointPlace(%q) = %q, want %q", key, got, want)
		}
	}
}
