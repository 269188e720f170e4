package spec_test

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/workers/catalog"
)

// keys returns the paths of all values in a JSON object that are not objects themselves.
func keys(prefix string, raw json.RawMessage) []string {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		return []string{prefix}
	}
	var out []string
	for name, v := range m {
		out = append(out, keys(strings.TrimPrefix(prefix+"."+name, "."), v)...)
	}

	return out
}

// fixedKeys lists the keys that cannot be changed in a run.
var fixedKeys = map[string]bool{
	"name": true, "seed": true, "agents": true, "finetune": true, "synthesis": true,
}

func TestEveryKeyHasAnEffectOrIsForGood(t *testing.T) {
	s := parse(t, full)
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys("", raw) {
		top, _, _ := strings.Cut(key, ".")
		if _, changeable := s.EffectOf(key); changeable == fixedKeys[top] {
			t.Errorf("EffectOf(%s): got changeable %v, want %v", key, changeable, !fixedKeys[top])
		}
	}
}

func TestEffectOfAModelIsThatOfItsFirstRole(t *testing.T) {
	s := parse(t, judge)
	for key, want := range map[string]spec.Step{
		"models.judge.model":               spec.StepCredit,
		"models.judge.price.answer":        spec.StepNone,
		"models.judge.requests_per_minute": spec.StepNone,
		"models.unused.model":              spec.StepNone,
		"pairs.max_weight":                 spec.StepUpdate,
		"pairs.kind":                       spec.StepPairs,
	} {
		if got, ok := s.EffectOf(key); !ok || got.First != want {
			t.Errorf("EffectOf(%s) = %v, %v; want %v", key, got.First, ok, want)
		}
	}
}

func TestChangedValuesAreThoseOfAFile(t *testing.T) {
	s := parse(t, judge)
	v, err := s.Change(map[string]string{
		"train.beta": "0.5", "decoding.temperatures": "[0.3]", "critic.error": "0", "models.judge.temperature": "1",
	}, spec.Source{Dir: "/d"}, catalog.All{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.With(v)
	if err != nil {
		t.Fatal(err)
	}
	want := s
	want.Train.Beta, want.Decoding.Temperatures = 0.5, []float64{0.3}
	want.Models = map[spec.Role]spec.Model{}
	for name, m := range s.Models {
		if name == "judge" {
			m.Temperature = 1
		}
		want.Models[name] = m
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("With = %+v, want %+v", got, want)
	}
}

// TestPlainDPOStaysPlain checks that a smoothing of 0 survives storage. Stored specifications omit it, but its default
// is above 0.
func TestPlainDPOStaysPlain(t *testing.T) {
	s := parse(t, "name: a\ntrain: {smoothing: 0}\n")
	got, err := s.Set(map[string]string{"seed": "2"}, spec.Source{Dir: "/d"}, catalog.All{})
	if err != nil || got.Train.Smoothing != 0 {
		t.Errorf("Set = a smoothing of %v, %v, want 0 as before", got.Train.Smoothing, err)
	}
	if v, ok := s.Value("train.smoothing"); v != "0" || !ok {
		t.Errorf("Value = %q, %v, want 0", v, ok)
	}
}

func TestChangeReadsFilesOnce(t *testing.T) {
	s := parse(t, "name: a\n")
	src := spec.Source{Dir: "/d", Read: func(path string) ([]byte, error) {
		if path != "/d/p.txt" {
			return nil, os.ErrNotExist
		}
		return []byte(`{{/* version p-1 */ -}}{{define "system"}}s{{end}}{{define "user"}}u{{end}}`), nil
	}}
	v, err := s.Change(map[string]string{"prompts.critic": "p.txt"}, src, catalog.All{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.With(v)
	if err != nil || !strings.Contains(got.Prompts["critic"], "define") {
		t.Errorf("With = %q, %v; want the text of the file", got.Prompts["critic"], err)
	}
}

func TestImpossibleChangesNameTheirKeys(t *testing.T) {
	s := parse(t, "name: a\n")
	for key, value := range map[string]string{
		"seed": "2", "agents": "2", "name": "b", "finetune.chunk_steps": "3", "train.beta": "-1", "train.betta": "1",
		"epochs": "1.5", "decoding.temperatures": "[1, 2]", "train": "5", "slots": "", "rounds": "{", "rounds.x": "1",
		"environments.x.data": "{a: b}",
	} {
		_, err := s.Change(map[string]string{key: value}, spec.Source{Dir: "/d"}, catalog.All{})
		top, _, _ := strings.Cut(key, ".")
		if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), top) {
			t.Errorf("Change of %s to %q = %v, want an invalid fault that names the key", key, value, err)
		}
	}
}
