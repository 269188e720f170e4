package yamldoc

import (
	"bytes"
	"encoding/json"

	"gopkg.in/yaml.v3"
)

// JSON returns a tree from Read as JSON with the same texts. Values that are not numbers, booleans or null in JSON
// become strings. A text without a document becomes null.
func JSON(node *yaml.Node) json.RawMessage {
	var out bytes.Buffer
	writeJSON(&out, node)

	return out.Bytes()
}

func writeJSON(out *bytes.Buffer, node *yaml.Node) {
	switch {
	case node == nil || node.Kind == yaml.ScalarNode && node.Tag == "!!null":
		out.WriteString("null")
	case node.Kind == yaml.AliasNode:
		writeJSON(out, node.Alias)
	case node.Kind == yaml.MappingNode:
		writeAll(out, node, "{}", func(i int) string { return []string{",", ":"}[i%2] })
	case node.Kind == yaml.SequenceNode:
		writeAll(out, node, "[]", func(int) string { return "," })
	case node.Style == 0 && node.Tag != "!!str" && json.Valid([]byte(node.Value)):
		out.WriteString(node.Value)
	default:
		out.Write(quote(node.Value))
	}
}

func writeAll(out *bytes.Buffer, node *yaml.Node, brackets string, before func(i int) string) {
	out.WriteByte(brackets[0])
	for i, c := range node.Content {
		if i > 0 {
			out.WriteString(before(i))
		}
		if node.Kind == yaml.MappingNode && i%2 == 0 {
			out.Write(quote(c.Value))
		} else {
			writeJSON(out, c)
		}
	}
	out.WriteByte(brackets[1])
}

func quote(text string) []byte {
	raw, err := json.Marshal(text)
	if err != nil {
		panic(err) // encoding a string never fails
	}

	return raw
}
