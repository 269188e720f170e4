package spec

import (
	"strings"
	"testing"

	"github.com/collabui/collabui/internal/fault"
)

func TestErrorsNameFileLineColumnFieldAndTheNearestName(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 "s.yaml:1:1: the file is empty",
		"name: a\nepoch: 3\n":              `s.yaml:2:1: epoch: unknown key; did you mean "epochs"?`,
		"name: a\ntrain:\n  betta: 1\n":    `s.yaml:3:3: train.betta: unknown key; did you mean "beta"?`,
		"name: a\nagents: many\n":          `s.yaml:2:9: agents: expected a whole number, not "many"`,
		"name: a\nagents: 99\n":            `s.yaml:2:9: agents: expected a whole number from 1 to 16, not 99`,
		"agents: 4\n":                      `s.yaml:1:1: name: expected 1 to 40 lower-case letters`,
		"name: a\nname: b\n":               `s.yaml:2:1: name: given twice; first on line 1`,
		"name: a\ntrain: 3\n":              `s.yaml:2:8: train: expected a mapping`,
		"name: a\ndecoding:\n  top_p: 7\n": `s.yaml:3:10: decoding.top_p: expected a number from 0.01 to 1, not 7`,
		"name: a\ncredit: critics\n":       `s.yaml:2:9: credit: expected one of [critic outcome], not "critics"`,
		"name: a\nzzzzzzzz: 1\n":           `unknown key; known are name, seed`,
		"name: [\n":                        `s.yaml: line 1`,
		"name: a\nagents: 3\n":             `decoding.temperatures: expected one number, or one per agent (3), not 4`,
	} {
		_, err := Parse("s.yaml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), want) || fault.KindOf(err) != fault.Invalid {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
	if _, err := Parse("s.yaml", []byte("name: a\nagents: x\nrounds: y\n")); strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("both errors at once: %v", err)
	}
}

func TestDefaultsHoldAndTheExampleLoads(t *testing.T) {
	s, err := Parse("s.yaml", []byte("name: a\nseed: 7\ntrain: {ftx: 0.5}\n"))
	if err != nil || s.Seed != 7 || s.Train.Ftx != 0.5 || s.Train.Beta != 0.1 || s.Agents != 4 {
		t.Fatal(s, err)
	}
	if s, err = Load("../../examples/quickstart.yaml"); err != nil || s.Name != "quickstart" || s.ViewDropout != 0 {
		t.Fatal(s, err)
	}
	seen := map[float64]bool{}
	for _, x := range s.Temperatures() {
		seen[x] = true
	}
	if len(seen) != 4 {
		t.Fatal(s.Temperatures())
	}
}
