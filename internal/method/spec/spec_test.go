package spec_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/workers/catalog"
)

// mistakes maps the text of a file to the text that its error must contain.
type mistakes map[string]string

// check parses every text after a head that is valid by itself.
func (m mistakes) check(t *testing.T, head string) {
	t.Helper()
	for text, want := range m {
		t.Run(text, func(t *testing.T) {
			_, err := spec.Parse(spec.Source{Name: "x.yaml", Dir: "/specs"}, []byte(head+text), catalog.All{})
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("Parse = %v, want %s", err, want)
			}
			if fault.KindOf(err) != fault.Invalid {
				t.Errorf("kind of the error = %v, want %v", fault.KindOf(err), fault.Invalid)
			}
		})
	}
}

// parse parses a text that must be valid.
func parse(t *testing.T, text string) spec.Spec {
	t.Helper()
	s, err := spec.Parse(spec.Source{Name: "x.yaml", Dir: "/specs"}, []byte(text), catalog.All{})
	if err != nil {
		t.Fatal(err)
	}

	return s
}

func TestErrorsNameFileLineColumnFieldAndTheNearestName(t *testing.T) {
	mistakes{
		"":                                "x.yaml:1:1: the file is empty",
		"name: a\nepoch: 3\n":             `x.yaml:2:1: epoch: unknown key; did you mean "epochs"?`,
		"name: a\ntrain:\n  betta: 1\n":   `x.yaml:3:3: train.betta: unknown key; did you mean "beta"?`,
		"name: a\nzzzzzzzz: 1\n":          `unknown key; known are name, seed`,
		"name: a\nname: b\n":              `x.yaml:2:1: name: given twice; first on line 1`,
		"name: a\nagents: many\n":         `x.yaml:2:9: agents: expected a whole number, not "many"`,
		"name: a\nagents: 2.5\n":          `x.yaml:2:9: agents: expected a whole number, not "2.5"`,
		"name: a\nagents: [2]\n":          `x.yaml:2:9: agents: expected a whole number`,
		"name: a\nagents:\n":              `agents: expected a whole number`,
		"name: a\nseed: -1\n":             `x.yaml:2:7: seed: expected a whole number from 0, not "-1"`,
		"name: a\nfailed_share: half\n":   `x.yaml:2:15: failed_share: expected a finite number, not "half"`,
		"name: a\nedge_update: yes\n":     `x.yaml:2:14: edge_update: expected true or false, not "yes"`,
		"name: a\ntrain: 3\n":             `x.yaml:2:8: train: expected a mapping`,
		"name: a\nfinetune:\n  levels: 1": `x.yaml:3:11: finetune.levels: expected a list`,
		"name: [\n":                       `x.yaml:1:7: `,
	}.check(t, "")
}

func TestImpossibleValuesAreErrorsAtTheirPlace(t *testing.T) {
	mistakes{
		"agents: 4\n":                      `x.yaml:1:1: name: expected 1 to 40 lower-case letters`,
		"name: a\nagents: 99\n":            `x.yaml:2:9: agents: expected a whole number from 1 to 16, not 99`,
		"name: a\nagents: 3\n":             `decoding.temperatures: expected one number, or one per agent (3), not 4`,
		"name: a\ndecoding:\n  top_p: 7\n": `x.yaml:3:10: decoding.top_p: expected a number from 0.01 to 1, not 7`,
		"name: a\ncredit: critics\n":       `x.yaml:2:9: credit: expected one of critic, outcome, advantage, not`,
	}.check(t, "")
}

func TestAllMistakesOfAFileAreReported(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want int // mistakes
	}{
		"wrong types":       {"name: a\nagents: x\nrounds: y\n", 2},
		"unknown keys":      {"name: a\nepoch: 3\ntrain: {betta: 1}\n", 2},
		"impossible values": {"name: a\nagents: 99\ndecoding: {temperatures: [0]}\nrounds: 99\n", 2},
		"trainer's options": { // those that are missing, too, and what stage 1 needs
			"name: a\nrounds: x\ntrainer: {options: {rnk: 8}, name: trl}\n", 4,
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := spec.Parse(spec.Source{Name: "x.yaml", Dir: "/specs"}, []byte(c.text), catalog.All{})
			if err == nil {
				t.Fatalf("got no error, want %d mistakes", c.want)
			}
			if n := strings.Count(err.Error(), "\n") + 1; n != c.want {
				t.Errorf("got %d mistakes, want %d:\n%v", n, c.want, err)
			}
		})
	}
}

func TestMistakesOfAllKindsAreInTheOrderOfTheFile(t *testing.T) {
	const text = "nmae: a\nrounds: 99\nedges: all\nepoch: 3\nagents: many\ntrain:\n  beta: 101\n  passes: [1]\n"
	_, err := spec.Parse(spec.Source{Name: "x.yaml", Dir: "/specs"}, []byte(text), catalog.All{})
	if err == nil {
		t.Fatal("got no error, want seven mistakes")
	}
	lines := strings.Split(err.Error(), "\n")
	want := []string{
		`x.yaml:1:1: nmae: unknown key; did you mean "name"?`, "x.yaml:2:9: rounds: expected a whole number from",
		"x.yaml:3:8: edges: expected one of", "x.yaml:4:1: epoch: unknown key",
		`x.yaml:5:9: agents: expected a whole number, not "many"`, "x.yaml:7:9: train.beta: expected a number",
		"x.yaml:8:11: train.passes: expected a whole number",
	}
	for i, line := range lines {
		if len(lines) != len(want) || !strings.HasPrefix(line, want[i]) {
			t.Fatalf("got the mistakes\n%v\nwant these, in this order:\n%s", err, strings.Join(want, "\n"))
		}
	}
}

func TestAFileIsReadOverTheDefaults(t *testing.T) {
	got := parse(t, "name: a\nseed: 7\ntrain: {ftx: 0.5}\n")

	want := spec.Default()
	want.Name, want.Seed, want.Train.Ftx = "a", 7, 0.5
	if !reflect.DeepEqual(got, want) {
		t.Errorf("Parse = %+v, want %+v", got, want)
	}
}

func TestAStoredSpecificationIsReadOverTheDefaults(t *testing.T) {
	const stored = `{"name":"a","slots":7,"decoding":{"temperatures":[0.1],"top_p":0.5,"max_tokens":9}}`
	var got spec.Spec
	if err := json.Unmarshal([]byte(stored), &got); err != nil {
		t.Fatal(err)
	}

	want := spec.Default()
	want.Name, want.Slots = "a", 7
	want.Decoding = spec.Decoding{Temperatures: []float64{0.1}, TopP: 0.5, MaxTokens: 9}

	// A stored specification omits a smoothing of 0.
	want.Train.Smoothing, want.FineTune.Preference.Smoothing = 0, 0
	if !reflect.DeepEqual(got, want) {
		t.Errorf("UnmarshalJSON = %+v, want %+v", got, want)
	}
}

func TestEveryExampleIsAValidSpecification(t *testing.T) {
	files, err := filepath.Glob("../../../examples/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 3 {
		t.Errorf("found the examples %v, want at least three", files)
	}

	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			s, err := loadFile(t, f)
			if err != nil {
				t.Fatal(err)
			}
			if base := strings.TrimSuffix(filepath.Base(f), ".yaml"); s.Name != base && s.Name != "qwen2" {
				t.Errorf("name = %q, want %q or qwen2", s.Name, base)
			}
		})
	}
}

func TestTemperaturesAreDealtToTheAgents(t *testing.T) {
	s := spec.Default()
	got := s.Temperatures()
	slices.Sort(got)
	if want := s.Decoding.Temperatures; !slices.Equal(got, want) {
		t.Errorf("Temperatures, sorted = %v, want %v", got, want)
	}
}

// loadFile parses a file as the command line does.
func loadFile(t *testing.T, path string) (spec.Spec, error) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	return spec.Parse(spec.Source{Name: path, Dir: filepath.Dir(path), Read: os.ReadFile}, raw, catalog.All{})
}

// TestDividedViewsTurnSpeechOn checks the defaults of the keys that depend on views, and that a file overrides them.
func TestDividedViewsTurnSpeechOn(t *testing.T) {
	for text, want := range map[string]struct {
		speech bool
		reads  agents.Reads
	}{
		"name: a":                         {false, agents.ReadDAG},
		"name: a\nviews: {kind: regions}": {true, agents.ReadBack},
		"name: a\nviews: {kind: dropout}": {true, agents.ReadBack},
		"name: a\nviews: {kind: regions}\nspeech: false\nreads: dag": {false, agents.ReadDAG},
		"name: a\nspeech: true\nreads: back":                         {true, agents.ReadBack},
	} {
		got, err := spec.Parse(spec.Source{Name: "x.yaml", Dir: "/specs"}, []byte(text), catalog.All{})
		if err != nil || got.Speech != want.speech || got.Reads != want.reads {
			t.Errorf("%q: speech %v, reads %s, %v; want %v, %s",
				text, got.Speech, got.Reads, err, want.speech, want.reads)
		}
	}
}
