package yamldoc

import (
	"bytes"
	"encoding/json"

	"gopkg.in/yaml.v3"
)

// JSON returns a tree that Read returned as JSON with equal texts: what is no number, bool or null of JSON becomes a
// string. A text without a document is null.
func JSON(n *yaml.Node) json.RawMessage {
	var out bytes.Buffer
	writeJSON(&out, n)

	return out.Bytes()
}

func writeJSON(out *bytes.Buffer, n *yaml.Node) {
	switch {
	case n == nil || n.Kind == yaml.ScalarNode && n.Tag == "!!null":
		out.WriteString("null")
	case n.Kind == yaml.AliasNode:
		writeJSON(out, n.Alias)
	case n.Kind == yaml.MappingNode:
		writeAll(out, n, "{}", func(i int) string { return []string{",", ":"}[i%2] })
	case n.Kind == yaml.SequenceNode:
		writeAll(out, n, "[]", func(int) string { return "," })
	case n.Style == 0 && n.Tag != "!!str" && json.Valid([]byte(n.Value)):
		out.WriteString(n.Value)
	default:
		out.Write(quoted(n.Value))
	}
}

func writeAll(out *bytes.Buffer, n *yaml.Node, brackets string, before func(i int) string) {
	out.WriteByte(brackets[0])
	for i, c := range n.Content {
		if i > 0 {
			out.WriteString(before(i))
		}
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			out.Write(quoted(c.Value))
		} else {
			writeJSON(out, c)
		}
	}
	out.WriteByte(brackets[1])
}

func quoted(text string) []byte {
	raw, err := json.Marshal(text)
	if err != nil {
		panic(err) // a text can be encoded
	}

	return raw
}
