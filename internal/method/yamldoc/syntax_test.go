package yamldoc_test

import (
	"strings"
	"testing"

	"github.com/collabui/collabui/internal/method/yamldoc"
)

// TestASyntaxErrorNamesItsPlace has errors of the library's parser and scanner, inside and outside of blocks.
func TestASyntaxErrorNamesItsPlace(t *testing.T) {
	const head = "name: a\nmodels:\n  m:\n    base_url: http://h/v1\n    model: x\n"
	for text, want := range map[string]string{
		head + "critic: \"x\" y\nslots: 3\n":          "f:6:13: ",
		head + "    key: \"A\" b\nslots: 3\n":         "f:6:14: ",
		head + "critic: {model: m\nslots: 3\n":        "f:6:9: ",
		head + "labels: [a, b\nslots: 3\n":            "f:6:9: ",
		head + "labels: [a,\n  b]\nx: \"a\" b\n":      "f:8:8: ",
		head + "\tslots: 3\n":                         "f:6:1: ",
		head + "  slots: 3: 4\n":                      "f:6:11: ",
		head + "why: |\n  some\n  text\nx: 'a' 'b'\n": "f:9:8: ",
		"x: \"a\" b\n":                                "f:1:8: ",
		"a: 1\nx: \"é\" b":                            "f:2:8: ",
		strings.Repeat("k: v\n", 20_000) + "x: [\n":   "f:20001: ", // too long for the search
	} {
		_, err := yamldoc.Read("f", []byte(text))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("Read(…%q) = %v, want an error at %s", text[max(0, len(text)-40):], err, want)
		}
	}
}
