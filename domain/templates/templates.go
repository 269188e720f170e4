// Package templates executes templates of text/template that people write into specifications, within bounds of steps
// and size.
//
// It does no I/O.
package templates

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"text/template"
)

// Bounds of a template and of what it makes. A step is a part of a template that is executed once: a loop over n
// elements takes n times the parts of its body.
const (
	maxText   = 64 << 10 // bytes of the template
	maxOutput = 1 << 20  // bytes
	maxSteps  = 250_000  // of one execution
	maxWords  = 50       // of a pipeline, such as names of fields and functions
	maxFormat = 256      // bytes of a format of printf
)

// Template is a template whose executions are bounded. It may be executed concurrently.
type Template struct{ parts *template.Template }

// Parse parses a template, which may call the given functions and all of text/template except print, println, html,
// js, urlquery and call: their results could grow with every call. A key that a map lacks is an error of Execute.
func Parse(text string, functions template.FuncMap) (*Template, error) {
	if len(text) > maxText {
		return nil, fmt.Errorf("it has %d bytes; expected at most %d", len(text), maxText)
	}
	known := template.FuncMap{"printf": format}
	maps.Copy(known, functions)
	parsed, err := template.New("").Option("missingkey=error").Funcs(known).Parse(text)
	if err != nil {
		return nil, err
	}
	built := builder{parts: parsed, calls: map[string][]string{}}
	for _, part := range parsed.Templates() {
		if part.Tree == nil {
			continue
		}
		built.part = part.Name()
		if err := built.list(part.Root); err != nil {
			return nil, err
		}
	}
	for _, part := range slices.Sorted(maps.Keys(built.calls)) {
		if built.reaches(part, part, map[string]bool{}) {
			return nil, fmt.Errorf("the part %q includes itself", part)
		}
	}

	return &Template{parsed}, nil
}

// Has reports whether a part is defined.
func (t *Template) Has(part string) bool { return t.parts.Lookup(part) != nil }

// Execute executes a part; the whole template is the part "". The error names the bound that it exceeds, or what the
// data lacks.
func (t *Template) Execute(part string, data any) (string, error) {
	var w writer
	if err := t.parts.ExecuteTemplate(&w, part, data); err != nil {
		return "", err
	}

	return w.text.String(), nil
}

// writer takes what a template writes. Every step writes something, if only an empty text.
type writer struct {
	text  strings.Builder
	steps int
}

// Write fails above the bounds, which ends the execution.
func (w *writer) Write(p []byte) (int, error) {
	if w.steps++; w.steps > maxSteps {
		return 0, fmt.Errorf("it takes more than %d steps", maxSteps)
	}
	if w.text.Len()+len(p) > maxOutput {
		return 0, fmt.Errorf("it writes more than %d bytes", maxOutput)
	}

	return w.text.Write(p)
}

// wide are formats whose width or precision has four digits, or comes from the data.
var wide = regexp.MustCompile(`%[^a-zA-Z%]*(\d{4}|\*)`)

// format is printf within bounds.
func format(text string, args ...any) (string, error) {
	if len(text) > maxFormat || wide.MatchString(text) {
		return "", fmt.Errorf("a format of printf has at most %d bytes, and widths below 1000 only", maxFormat)
	}

	return bounded(fmt.Sprintf(text, args...))
}

// JSON returns a value as JSON, for templates that write JSON.
func JSON(v any) (string, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return "", err
	}

	return bounded(string(raw))
}

func bounded(text string) (string, error) {
	if len(text) > maxOutput {
		return "", fmt.Errorf("the result of a function has %d bytes; expected at most %d", len(text), maxOutput)
	}

	return text, nil
}
