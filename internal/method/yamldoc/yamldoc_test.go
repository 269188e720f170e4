package yamldoc

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/collabui/collabui/fault"
)

func TestATreeAsJSONHasTheTextsOfTheFile(t *testing.T) {
	for text, want := range map[string]string{
		"":                             `null`,
		"# nothing\n":                  `null`,
		"~":                            `null`,
		"3":                            `3`,
		"'3'":                          `"3"`,
		"1e-5":                         `1e-5`,
		"0x10":                         `"0x10"`,
		"2006-01-02":                   `"2006-01-02"`,
		"yes":                          `"yes"`,
		"true":                         `true`,
		"[a, {b: 1, c: [x, null]}]":    `["a",{"b":1,"c":["x",null]}]`,
		"a: &x [1, 2]\nb: *x\nc: {}\n": `{"a":[1,2],"b":[1,2],"c":{}}`,
		"\ufeffa: 1\r\nb: \"\\\"\"":    `{"a":1,"b":"\""}`,
		"--- |\n  two\n  lines\n...\n": `"two\nlines\n"`,
	} {
		n, err := Read("x.yaml", []byte(text))
		if got := JSON(n); err != nil || string(got) != want {
			t.Errorf("JSON(%q) = %s, %v; want %s", text, got, err, want)
		}
	}
}

func TestValuesOfOtherProgramsKeepTheirTypesAndAreFinite(t *testing.T) {
	for text, want := range map[string]any{"1.5": 1.5, "1.0e308": 1e308, "7": 7, "yes": "yes", "true": true, "": nil} {
		if got, err := Value(text); err != nil || got != want {
			t.Errorf("Value(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{".inf", "-.Inf", "[1, {a: .nan}]", "1\n---\n2", "!!python/object x", "{a: 1, a: 2}"} {
		if got, err := Value(text); fault.KindOf(err) != fault.Invalid {
			t.Errorf("Value(%q) = %v, %v; want an invalid fault", text, got, err)
		}
	}
}

// FuzzRead checks that Read refuses any text with an error that names the file, or returns a tree that is small with
// its aliases followed, and that stays the same when it is written and read again.
func FuzzRead(f *testing.F) {
	for _, text := range []string{
		"a: &p {b: *p}", "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]", "a: 1\n---\nb: 2", "{? [a] : b}",
		"<<: {a: 1}", "- !!binary aGk=\n- .inf\n- 0x10\n- 2006-01-02", "a: |\n  text\n", "\"\\ud800\": 1", "a: *b",
		"%YAML 1.1\n--- a",
		"\xfe\xff\x00a", "[[[[[[[[[[[[[[[[[[[[[[[[[[[[1", "a: 'b", "? a\n? b\n", "# c\na: b # d\n# e\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		began := time.Now()
		n, err := Read("x.yaml", raw)
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%d bytes took %v, want less than 10 s", len(raw), took)
		}
		if err != nil {
			if fault.KindOf(err) != fault.Invalid || !strings.HasPrefix(err.Error(), "x.yaml:") {
				t.Errorf("got %v, want an invalid fault that names the file", err)
			}
			return
		}

		once := JSON(n)
		if !json.Valid(once) || len(once) > 6*(maxText+10*maxValues) {
			t.Errorf("got %d bytes of JSON, valid %v; want bounded JSON", len(once), json.Valid(once))
		}
		again, err := Read("again.yaml", once)
		if len(once) < MaxBytes && (err != nil || !bytes.Equal(once, JSON(again))) {
			t.Errorf("got %.200s, %v when read again, want %.200s", JSON(again), err, once)
		}
		if v, err := Value(string(raw)); err == nil {
			if x, ok := v.(float64); ok && (math.IsInf(x, 0) || math.IsNaN(x)) {
				t.Errorf("Value(%q) = %v, want a finite number", raw, v)
			}
		}
	})
}
