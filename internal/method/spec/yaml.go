package spec

import (
	"bytes"
	"encoding/json"
	"slices"

	"gopkg.in/yaml.v3"
)

// YAML returns the resolved specification as a file: every key with its value. Parse reads it back to an equal
// specification, in any folder.
func (s Spec) YAML() ([]byte, error) {
	raw, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	var doc yaml.Node // JSON is YAML in another style
	if err := yaml.Unmarshal(raw, &doc); err != nil {
		return nil, err
	}
	restyle(&doc)

	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if err := e.Encode(&doc); err != nil {
		return nil, err
	}

	return out.Bytes(), e.Close()
}

// restyle sets the style that people write: blocks, plain text, lists of scalars on one line.
func restyle(n *yaml.Node) {
	n.Style = 0
	nested := func(c *yaml.Node) bool { return c.Kind != yaml.ScalarNode }
	if n.Kind == yaml.SequenceNode && !slices.ContainsFunc(n.Content, nested) {
		n.Style = yaml.FlowStyle
	}
	for _, c := range n.Content {
		restyle(c)
	}
}
