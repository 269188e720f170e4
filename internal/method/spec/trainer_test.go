package spec_test

import (
	"encoding/json"
	"testing"

	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/trainer/llamafactory"
	"github.com/collabui/collabui/workers/catalog"
)

func TestTrainersAreChecked(t *testing.T) {
	mistakes{
		"trainer: {name: lamafactory}":  "x.yaml:2:17: trainer.name: expected one of tiny, llamafactory, trl",
		"trainer: {nam: tiny}":          `x.yaml:2:11: trainer.nam: unknown key; did you mean "name"?`,
		"trainer: {options: {rank: 8}}": "x.yaml:2:20: trainer.options: the trainer tiny has no options",
		"trainer: tiny":                 "x.yaml:2:10: trainer: expected a mapping",
		"serving: {quorum: -1}":         "serving.quorum: expected a whole number from 0",
		"serving: {canaries: -1}":       "serving.canaries: expected a whole number from 0 to 1000",
		"serving: {max_gap: 101}":       "serving.max_gap: expected a number from 0 to 100",
		"actions: web":                  "actions: expected mobile, or web where the policies are language models",
	}.check(t, "name: a\n")
}

func TestOptionsOfATrainerAreChecked(t *testing.T) {
	mistakes{
		"": "x.yaml:3:3: trainer.options.model: expected the folder of the base model",
		"  options:\n    model: /m\n    rnk: 8": `x.yaml:6:5: trainer.options.rnk: unknown key; ` +
			`did you mean "rank"?`,
		"  options:\n    model: /m\n    rank: eight": `x.yaml:6:11: trainer.options.rank: ` +
			`expected a whole number, not "eight"`,
		"  options:\n    model: /m\n    per_device: 3": "x.yaml:6:17: trainer.options.per_device: " +
			"expected per_device × devices (3) to divide the batch of 16 rows",
		"  options:\n    model: /m y": "without blanks",
		"  options:\n    model: /m\n    extra:\n      learning_rate: 1e-4": "trainer.options.extra.learning_rate: " +
			"expected a key that collabui does not set itself",
		"  options:\n    model: /m\n    extra:\n      trust_remote_code: \"true\"": `x.yaml:7:26: ` +
			`trainer.options.extra.trust_remote_code: expected one of adam_beta1, adam_beta2, `,
		"  options:\n    model: /m\n    extra: {hub_token: x}": `not "hub_token": remove it, or have the operators ` +
			`of the workers list it in COLLABUI_TRAINER_OPTIONS`,
		"  options:\n    model: /m\n    extra: {flash_attn: {trust_remote_code: x}}": "trainer.options.extra." +
			"flash_attn: expected text",
		"  options:\n    model: /m\n    deepspeed: ds.json": "x.yaml:6:16: trainer.options.deepspeed: " +
			"expected the absolute path of a file",
		"  options:\n    model: /m\n    finetuning: full": "x.yaml:6:17: trainer.options.finetuning: " +
			"expected lora, or parameters: shared",
	}.check(t, "name: a\ntrainer:\n  name: llamafactory\n")
}

const lora = `
name: a
actions: web
trainer:
  options:
    model: /m
    rank: 16
    extra: {flash_attn: fa2}
  name: llamafactory
finetune: {base: model}
`

func TestOptionsOfATrainerAreStoredWithTheirDefaults(t *testing.T) {
	raw, err := json.Marshal(parse(t, lora))
	if err != nil {
		t.Fatal(err)
	}
	var s spec.Spec
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(catalog.All{}); err != nil {
		t.Errorf("Validate of the stored specification = %v, want nil", err)
	}
	if s.Embedded() {
		t.Error("Embedded() = true, want false")
	}

	var o llamafactory.Options
	if err := json.Unmarshal(s.Trainer.Options, &o); err != nil {
		t.Fatal(err)
	}
	if o.Rank != 16 || o.Cutoff != 4096 || o.Extra["flash_attn"] != "fa2" {
		t.Errorf("options = %+v, want rank 16, cutoff 4096 and flash_attn fa2", o)
	}
}
