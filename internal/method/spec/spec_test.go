package spec

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/collabui/collabui/fault"
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
	if s, err = Load("../../../examples/quickstart.yaml"); err != nil || s.Name != "quickstart" || s.ViewDropout != 0 {
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

func TestModelsAreNamedAndHoldNoSecrets(t *testing.T) {
	const ok = "name: a\nmodels:\n  judge: {base_url: 'http://h:1/v1', model: m, key: API_KEY, headers: {X-Org: acme, Authorization: $TOKEN}}\ncritic: {model: judge}\n"
	s, err := Parse("s.yaml", []byte(ok))
	if err != nil || s.Models["judge"].Timeout != 120 || s.Models["judge"].Headers["X-Org"] != "acme" || s.Critic.Rule != "robust" {
		t.Fatal(s.Models, err)
	}
	for change, want := range map[[2]string]string{
		{"key: API_KEY", "key: sk-123"}:                 "s.yaml:3:53: models.judge.key: expected the name of an environment variable",
		{"$TOKEN", "Bearer-x"}:                          "headers.Authorization: expected $NAME",
		{"http://h:1/v1", "ftp://h"}:                    "models.judge.base_url: expected a URL",
		{"http://h:1/v1", "http://u:p@h/v1"}:            "no password",
		{"model: judge", "model: juge"}:                 `s.yaml:4:17: critic.model: expected oracle or a name under models, not "juge"`,
		{"  judge:", "  oracle:"}:                       "models.oracle: expected a name",
		{"model: m,", "modell: m,"}:                     `models.judge.modell: unknown key; did you mean "model"?`,
		{"model: m,", "model: m, timeout: 0,"}:          "models.judge.timeout: expected 0.1 to 3600 seconds",
		{"model: m,", "model: m, schema: xml,"}:         "models.judge.schema: expected one of",
		{"critic: {model: judge}", "critic: {rule: x}"}: "critic.rule: expected one of [robust paper]",
		{"models:\n  judge:", "models:\n  judge: {base_url: 'http://h/v1', model: m}\n  judge:"}: "given twice; first on line 3",
	} {
		if _, err := Parse("s.yaml", []byte(strings.Replace(ok, change[0], change[1], 1))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v, want %s", change, err, want)
		}
	}
}

func TestPromptsOfOnesOwnAreStoredAsText(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	const mine = "{{/* version mine-2 */}}{{define \"system\"}}s{{end}}{{define \"user\"}}u{{end}}"
	write("critic.tmpl", mine)
	write("bad.tmpl", "hello")
	for text, want := range map[string]string{
		"name: a\nprompts: {critic: critic.tmpl}\n":  "",
		"name: a\nprompts: {critic: nowhere.tmpl}\n": "s.yaml:2:19: prompts.critic: expected a file with a prompt template",
		"name: a\nprompts: {critic: bad.tmpl}\n":     "prompts.critic: expected a prompt template: the first line must be",
		"name: a\nprompts: {nobody: critic.tmpl}\n":  "prompts.nobody: expected one of the roles [agent critic adversary",
	} {
		s, err := Load(write("s.yaml", text))
		if want == "" && (err != nil || s.Prompts["critic"] != mine) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v %v, want %s", text, s.Prompts, err, want)
		}
	}
}
