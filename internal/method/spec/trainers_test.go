package spec

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/collabui/collabui/trainer/llamafactory"
)

func TestTrainersAreCheckedByFileAndLine(t *testing.T) {
	for text, want := range map[string]string{
		"trainer: {name: lamafactory}":   "x.yaml:2:17: trainer.name: expected one of tiny, llamafactory, trl",
		"trainer: {nam: tiny}":           `x.yaml:2:11: trainer.nam: unknown key; did you mean "name"?`,
		"trainer: {options: {rank: 8}}":  "x.yaml:2:20: trainer.options: the trainer tiny takes none",
		"trainer: tiny":                  "x.yaml:2:10: trainer: expected a mapping with name and options",
		"trainer:\n  name: llamafactory": "x.yaml:3:3: trainer.options.model: expected the folder of the base model",
		"trainer:\n  name: llamafactory\n  options:\n    model: /m\n    rnk: 8":                            `x.yaml:6:5: trainer.options.rnk: unknown key; did you mean "rank"?`,
		"trainer:\n  name: llamafactory\n  options:\n    model: /m\n    rank: eight":                       `x.yaml:6:11: trainer.options.rank: expected a whole number, not "eight"`,
		"trainer:\n  name: llamafactory\n  options:\n    model: /m\n    per_device: 3":                     "x.yaml:6:17: trainer.options.per_device: expected per_device × devices (3) to divide the batch of 16 rows",
		"trainer:\n  name: llamafactory\n  options:\n    model: /m y":                                      "without blanks",
		"trainer:\n  name: llamafactory\n  options:\n    model: /m\n    extra:\n      learning_rate: 1e-4": "trainer.options.extra.learning_rate: expected a key that collabui does not set itself",
		"trainer:\n  name: llamafactory\n  options:\n    model: /m\n    finetuning: full":                  "x.yaml:6:17: trainer.options.finetuning: expected lora, or parameters: shared",
		"serving: {quorum: -1}":   "serving.quorum: expected a whole number from 0",
		"finetune: {base: model}": "finetune.base: expected the digest of a policy",
		"actions: web":            "actions: expected mobile, or web where the policies are language models",
	} {
		if _, err := Parse("x.yaml", []byte("name: a\n"+text+"\n")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n\tgave %v\n\twant %s", text, err, want)
		}
	}
	s, err := Parse("x.yaml", []byte("name: a\nactions: web\ntrainer:\n  name: llamafactory\n  options:\n    model: /m\n    rank: 16\n    extra: {flash_attn: fa2}\nfinetune: {base: model}\n"))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(s)
	var again Spec
	if err == nil {
		err = json.Unmarshal(raw, &again)
	}
	var o llamafactory.Options
	if err == nil {
		err = json.Unmarshal(again.Trainer.Options, &o)
	}
	if err != nil || o.Rank != 16 || o.Cutoff != 4096 || o.Extra["flash_attn"] != "fa2" || again.Validate() != nil || again.Embedded() {
		t.Errorf("%+v %v %v", o, err, again.Validate())
	}
}

func TestEveryExampleIsAValidSpecification(t *testing.T) {
	files, err := filepath.Glob("../../../examples/*.yaml")
	if err != nil || len(files) < 3 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		if _, err := Load(f); err != nil {
			t.Error(err)
		}
	}
}
