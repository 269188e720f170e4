package templates_test

import (
	"fmt"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/collabui/collabui/domain/templates"
)

var functions = template.FuncMap{"json": templates.JSON}

func TestTemplatesThatNeverEndAreRefusedOrStopped(t *testing.T) {
	wide := strings.Repeat("{{range $}}", 30) + strings.Repeat("{{end}}", 30)
	doubled := "{{$x := \"ab\"}}" + strings.Repeat("{{$x = printf \"%s%s\" $x $x}}", 60) + "{{$x}}"
	deep := ""
	for i := range 60 {
		deep += fmt.Sprintf("{{define \"p%d\"}}{{template \"p%d\"}}{{template \"p%[2]d\"}}{{end}}", i, i+1)
	}
	double := "{{define \"a\"}}{{template \"b\"}}{{end}}{{define \"b\"}}{{if true}}{{template \"a\"}}{{end}}{{end}}"
	long := "{{range .}}{{range $}}{{.}}" + strings.Repeat("x", 2000) + "{{end}}{{end}}"
	for text, want := range map[string]string{
		"{{range 1000000000000}}{{end}}":                              "expected a list after range",
		"{{range 1000000000000}}x{{end}}":                             "expected a list after range",
		"{{$n := 1000000000000}}{{range $n}}{{end}}":                  "steps",
		"{{range len (printf \"%999d\" 1)}}{{range $}}{{end}}{{end}}": "steps",
		wide: "steps",
		"{{range .}}{{range $}}{{range $}}{{$y := .}}{{end}}{{end}}{{end}}": "steps",
		doubled: "bytes",
		deep + "{{define \"p60\"}}{{end}}{{template \"p0\"}}":         "steps",
		"{{define \"a\"}}{{template \"a\"}}{{end}}{{template \"a\"}}": "includes itself",
		double:                                                 "includes itself",
		"{{printf \"%1000000d\" 1}}":                           "widths below 1000",
		"{{printf \"%*d\" 1000000 1}}":                         "widths below 1000",
		"{{printf \"%[2]*[1]d\" 1 1000000}}":                   "widths below 1000",
		"{{printf \"%.9999999f\" 1.0}}":                        "widths below 1000",
		"{{printf \"" + strings.Repeat("%[1]v", 60) + "\" .}}": "at most 256 bytes",
		long:                         "writes more than",
		"{{. | js | js}}":            "js cannot be used",
		"{{print . .}}":              "print cannot be used",
		"{{(index . 0) | html}}":     "html cannot be used",
		"{{if (call .)}}{{end}}":     "call cannot be used",
		"{{with urlquery .}}{{end}}": "urlquery cannot be used",
		"{{or" + strings.Repeat(" true", 60) + "}}":                   "words",
		"{{json \"\\\"\"" + strings.Repeat("| json ", 30) + "}}":      "words",
		"{{$x := \"\\\"\"}}" + strings.Repeat("{{$x = json $x}}", 60): "bytes",
		strings.Repeat("x", 64<<10+1):                                 "expected at most",
		"{{range .}}":                                                 "unexpected EOF",
	} {
		began := time.Now()
		p, err := templates.Parse(text, functions)
		if err == nil {
			_, err = p.Execute("", make([]int, 1000))
		}
		name := text[:min(len(text), 60)]
		if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %.200v, want %q", name, err, want)
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%s: took %v, want an end within seconds", name, took)
		}
	}
}

func TestTemplatesSayTheSame(t *testing.T) {
	data := map[string]any{"Cells": []string{"a", "b"}, "Goal": "buy \"tea\"", "N": 3, "Empty": []int{}}
	for _, text := range []string{
		"{{range $i, $c := .Cells}}{{if $i}}, {{end}}{{$c}}{{else}}none{{end}}",
		"{{range .Empty}}x{{else}}none{{end}}", "{{with .Goal}}{{.}}{{end}}", "{{- /* c */ -}} a {{- .N }} b",
		"{{define \"x\"}}[{{.}}]{{end}}{{template \"x\" .N}}{{template \"x\" .Goal}}", "{{json .Goal}}",
		"{{if and (eq .N 3) (gt (len .Cells) 1)}}yes{{end}}", "{{printf \"%03d %q %.2f\" .N .Goal 1.5}}",
		"{{range .Cells}}{{if eq . \"b\"}}{{break}}{{end}}{{.}}{{end}}", "{{index .Cells 1}}{{slice .Goal 1 3}}",
	} {
		var want strings.Builder
		plain := template.Must(template.New("").Funcs(functions).Parse(text))
		if err := plain.Execute(&want, data); err != nil {
			t.Fatal(err)
		}
		p, err := templates.Parse(text, functions)
		if err != nil {
			t.Fatalf("Parse(%s) = %v, want no error", text, err)
		}
		if got, err := p.Execute("", data); err != nil || got != want.String() {
			t.Errorf("%s: got %q, %v; want %q", text, got, err, want.String())
		}
	}
}
