package recorded

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// oneReading refuses bytes that are not UTF-8, and an object that has a member twice: other programs read the other
// one. It does not check that the record is JSON.
func oneReading(raw []byte) error {
	if !utf8.Valid(raw) {
		valid := len(bytes.ToValidUTF8(raw, nil))

		return fmt.Errorf("not UTF-8: %d of its bytes are no character", len(raw)-valid)
	}

	var open []map[string]bool // the members of the objects around a place; nil for an array
	named := false             // the next text is the name of a member
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '{':
			open = append(open, map[string]bool{})
			named = true
		case '[':
			open = append(open, nil)
			named = false
		case '}', ']':
			open = open[:max(0, len(open)-1)]
			named = false
		case ',':
			named = len(open) > 0 && open[len(open)-1] != nil
		case '"':
			end := textEnd(raw, i)
			if named {
				name := nameOf(raw[i:end])
				members := open[len(open)-1]
				if members[name] {
					return fmt.Errorf("%q is there twice in one object", name)
				}
				members[name] = true
				named = false
			}
			i = end - 1
		}
	}

	return nil
}

// textEnd returns the place behind the text in quotes that begins at a place.
func textEnd(raw []byte, at int) int {
	for i := at + 1; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}

	return len(raw)
}

// nameOf returns what a text in quotes reads.
func nameOf(quoted []byte) string {
	var name string
	if json.Unmarshal(quoted, &name) != nil {
		return string(quoted)
	}

	return name
}
