package view

import (
	"encoding/json"
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/method/yamldoc"
	"github.com/collabui/collabui/internal/records/runs"
)

// specLine is a key of a specification as YAML, or the heading of keys below it.
type specLine struct {
	Text    string `json:"text"`
	Set     bool   `json:"set,omitempty"`     // it, or a key below it, differs from the default
	Changed string `json:"changed,omitempty"` // who changed it later, when and why
}

// specWriter writes the lines of a specification.
type specWriter struct {
	changed map[string]string // by path
	lines   []specLine
}

// specLines returns a specification with all changes as YAML, and how it differs from the default.
func specLines(given spec.Spec, changes []runs.Change) ([]specLine, error) {
	node, err := yamlOf(given)
	if err != nil {
		return nil, err
	}
	defaults, err := yamlOf(spec.Default())
	if err != nil {
		return nil, err
	}
	writer := specWriter{changed: map[string]string{}}
	for _, change := range changes {
		for path := range change.Values {
			text := fmt.Sprintf("set by %s at %s", change.Who, change.At.UTC().Format("2006-01-02 15:04"))
			if change.Why != "" {
				text += ": " + change.Why
			}
			writer.changed[path] = text
		}
	}

	err = writer.write(node, defaults, "", 0)

	return writer.lines, err
}

// yamlOf returns the mapping of a specification. JSON is YAML, and large numbers remain what they are.
func yamlOf(specification spec.Spec) (*yaml.Node, error) {
	raw, err := json.Marshal(specification)
	if err != nil {
		return nil, err
	}

	return yamldoc.Read("", raw)
}

// write writes the keys of a mapping below a path, next to those of the defaults, which may be nil.
func (w *specWriter) write(given, defaults *yaml.Node, path string, depth int) error {
	for i := 0; i+1 < len(given.Content); i += 2 {
		name := given.Content[i].Value
		value := given.Content[i+1]
		known := valueOf(defaults, name)
		at := strings.TrimPrefix(path+"."+name, ".")
		if value.Kind == yaml.MappingNode && len(value.Content) > 0 {
			heading := len(w.lines)
			w.lines = append(w.lines, specLine{Text: indented(depth, name+":"), Changed: w.changed[at]})
			if err := w.write(value, known, at, depth+1); err != nil {
				return err
			}
			for _, line := range w.lines[heading:] {
				w.lines[heading].Set = w.lines[heading].Set || line.Set
			}

			continue
		}
		text, err := textOf(given.Content[i], value)
		if err != nil {
			return err
		}
		standard := ""
		if known != nil {
			if standard, err = textOf(given.Content[i], known); err != nil {
				return err
			}
		}
		w.lines = append(w.lines, specLine{
			Text: indented(depth, text), Set: text != standard, Changed: w.changed[at],
		})
	}

	return nil
}

// valueOf returns the value of a key of a mapping, or nil.
func valueOf(mapping *yaml.Node, name string) *yaml.Node {
	if mapping == nil || mapping.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == name {
			return mapping.Content[i+1]
		}
	}

	return nil
}

// textOf returns a key with its value as YAML people write it: without quotes where none are needed.
func textOf(key, value *yaml.Node) (string, error) {
	plain := *value
	if plain.Kind == yaml.ScalarNode && plain.Tag == "!!str" {
		plain.Style = 0
	}
	raw, err := yaml.Marshal(&yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{
		{Kind: yaml.ScalarNode, Value: key.Value}, &plain,
	}})

	return strings.TrimSuffix(string(raw), "\n"), err
}

// indented returns the lines of a text, indented by two spaces for each level.
func indented(depth int, text string) string {
	before := strings.Repeat("  ", depth)

	return before + strings.ReplaceAll(text, "\n", "\n"+before)
}
