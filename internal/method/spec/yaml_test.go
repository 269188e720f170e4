package spec_test

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/workers/catalog"
)

// full sets a value of every kind.
const full = judge + environments + `
budget: {money: 12.5, tokens: 1000000}
prompts:
  critic: |
    {{/* version mine-3 */}}{{define "system"}}a & b: <c>{{end}}
    {{define "user"}}"quoted" # – no comment{{end}}
trainer: {name: llamafactory, options: {model: /models/qwen, extra: {flash_attn: "true"}}}
train: {learning_rate: 5.0e-6}
finetune: {levels: [1, 2, 3], base: model}
parameters: shared
`

func TestYAMLIsReadBackToAnEqualSpecification(t *testing.T) {
	texts := map[string]string{"a name only": "name: a\n", "every kind of value": full, "options": lora,
		"plain DPO": "name: a\ntrain: {smoothing: 0}\nfinetune: {preference: {smoothing: 0}}\n"}
	for _, name := range []string{"quickstart", "curriculum", "llamafactory"} {
		raw, err := os.ReadFile("../../../examples/" + name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = string(raw)
	}

	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			want := parse(t, text)
			raw, err := want.YAML()
			if err != nil {
				t.Fatal(err)
			}
			got, err := spec.Parse(spec.Source{Name: "y.yaml", Dir: "/elsewhere"}, raw, catalog.All{})
			if err != nil {
				t.Fatalf("Parse = %v, want nil:\n%s", err, raw)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("Parse = %+v, want %+v:\n%s", got, want, raw)
			}
		})
	}
}

func TestYAMLLooksAsPeopleWriteIt(t *testing.T) {
	raw, err := parse(t, "name: a\n").YAML()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"name: a\nseed: 1\nenvironment: webtasks\n",
		"decoding:\n  temperatures: [0.2, 0.5, 0.6, 0.8]\n  top_p: 0.8\n",
	} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("YAML does not contain what is wanted, %q:\n%s", want, raw)
		}
	}
}
