package spec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/collabui/collabui/internal/method/yamldoc"
)

// YAML returns the resolved specification as a file with the values of all keys. Parse reads it back to an equal
// specification in any folder.
func (s Spec) YAML() ([]byte, error) {
	raw, err := s.completeJSON()
	if err != nil {
		return nil, err
	}
	root, err := yamldoc.Read("", raw) // JSON is valid YAML
	if err != nil {
		return nil, err
	}
	restyle(root)

	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(root); err != nil {
		return nil, err
	}

	return out.Bytes(), encoder.Close()
}

// zeroSmoothing replaces a smoothing of 0 while a specification is encoded.
const zeroSmoothing = math.SmallestNonzeroFloat64

// completeJSON returns the specification as JSON that Parse reads back. Unlike a stored specification, it contains a
// smoothing of 0, because Parse would replace a missing one by its default.
func (s Spec) completeJSON() (json.RawMessage, error) {
	for _, smoothing := range []*float64{&s.Train.Smoothing, &s.FineTune.Preference.Smoothing} {
		if *smoothing == 0 {
			*smoothing = zeroSmoothing
		}
	}
	raw, err := json.Marshal(s)

	return bytes.ReplaceAll(raw, fmt.Appendf(nil, `"smoothing":%g`, zeroSmoothing), []byte(`"smoothing":0`)), err
}

// restyle sets the style that people use: blocks, unquoted text, and lists of scalars on one line.
func restyle(node *yaml.Node) {
	node.Style = 0
	nested := func(c *yaml.Node) bool { return c.Kind != yaml.ScalarNode }
	if node.Kind == yaml.SequenceNode && !slices.ContainsFunc(node.Content, nested) {
		node.Style = yaml.FlowStyle
	}
	for _, c := range node.Content {
		restyle(c)
	}
}
