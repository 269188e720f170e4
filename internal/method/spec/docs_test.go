package spec_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/workers/catalog"
)

func TestTheDocumentationHasEveryKeyAndItsDefault(t *testing.T) {
	raw, err := os.ReadFile("../../../docs/specification.md")
	if err != nil {
		t.Fatal(err)
	}

	sections := strings.Split(string(raw), "\n## Options of the trainer ")
	s := spec.Default()
	s.Environments = map[string]envadapters.Options{"NAME": {}}
	s.Models = map[spec.Role]spec.Model{"NAME": spec.DefaultModel()}
	s.Evaluation.OutOfDistribution = []spec.Elsewhere{{}}
	compare(t, sections[0], s)

	for _, section := range sections[1:] {
		name, _, _ := strings.Cut(section, "\n")
		t.Run(name, func(t *testing.T) {
			rules, ok := catalog.All{}.Trainer(name)
			if !ok {
				t.Fatalf("there is no trainer %q, want one of %v", name, catalog.All{}.TrainerNames())
			}
			compare(t, section, rules.Options)
		})
	}
}

// compare compares the tables of a text with the fields of a value.
func compare(t *testing.T, text string, v any) {
	t.Helper()
	got, want := documented(t, text), map[string]string{}
	collect(reflect.ValueOf(v), "", want)
	for key := range maps.Keys(got) {
		if _, ok := want[key]; !ok {
			t.Errorf("docs/specification.md has a row for %q, want rows for keys that exist", key)
		}
	}
	for key, value := range want {
		found, ok := got[key]
		switch {
		case !ok:
			t.Errorf("docs/specification.md has no row for %q, want one with the default %q", key, value)
		case found != value:
			t.Errorf("docs/specification.md gives %q the default %q, want %q", key, found, value)
		}
	}
}

var (
	row  = regexp.MustCompile("(?m)^\\| (`[^|]+`) \\| *([^|]*?) *\\|")
	word = regexp.MustCompile("`([^`]+)`")
)

// documented returns the keys in the tables of a text with their defaults. A row may have several keys.
func documented(t *testing.T, text string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, r := range row.FindAllStringSubmatch(text, -1) {
		keys, defaults := word.FindAllStringSubmatch(r[1], -1), strings.Split(r[2], ", ")
		for i, k := range keys {
			if _, twice := out[k[1]]; twice {
				t.Errorf("docs/specification.md has %q twice, want it once", k[1])
			}
			out[k[1]] = defaults[min(i, len(defaults)-1)]
		}
	}

	return out
}

// collect adds the keys of a value with their defaults. It skips keys of environments, which depend on the adapter.
func collect(v reflect.Value, key string, out map[string]string) {
	switch {
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			collect(v.Field(i), strings.TrimPrefix(key+"."+name, "."), out)
		}
	case v.Kind() == reflect.Map && v.Len() > 0:
		collect(v.MapIndex(v.MapKeys()[0]), key+".NAME", out)
	case v.Kind() == reflect.Slice && v.Len() > 0 && v.Index(0).Kind() == reflect.Struct:
		out[key] = ""
		collect(v.Index(0), key+"[]", out)
	case v.Kind() == reflect.Map,
		v.Type() == reflect.TypeFor[json.RawMessage](),
		strings.HasPrefix(key, "environments"):
		out[key] = ""
	default:
		out[key] = strings.Trim(fmt.Sprint(v), "[]")
	}
}
