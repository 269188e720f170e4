package prompts

import (
	"strings"
	"testing"
)

func TestTemplatesHaveVersionsPartsAndDigests(t *testing.T) {
	text, err := Default(Critic)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Parse(text)
	if err != nil || p.Version != "2" || len(p.Digest) != 64 {
		t.Fatal(p, err)
	}
	if q, err := Parse(text + " "); err != nil || q.Digest == p.Digest {
		t.Error("another text has the same digest", err)
	}
	for bad, want := range map[string]string{
		"hello": "first line",
		"{{/* version 1 */}}\n{{define \"system\"}}x{{end}}":                            `"user"`,
		"{{/* version 1 */}}\n{{define \"system\"}}{{.X}{{end}}":                        "bad character",
		"{{define \"system\"}}{{end}}{{define \"user\"}}{{end}}":                        "first line",
		"{{/* version a b */}}\n{{define \"user\"}}{{end}}{{define \"system\"}}{{end}}": "first line",
	} {
		if _, err := Parse(bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := Default("nobody"); err == nil {
		t.Error("a role without a template")
	}
	if _, err := p.Render("user", map[string]string{}); err == nil {
		t.Error("a prompt without its data was rendered")
	}
}
