// Package yamldoc reads YAML that people write: one document, as a tree, within bounds that no honest file reaches. All
// YAML that the program reads goes through it. It does no I/O.
package yamldoc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/collabui/collabui/fault"
)

// MaxBytes is the size of the largest text that Read accepts.
const MaxBytes = 512 << 10

// Bounds on a tree. Values and text count again at every alias.
const (
	maxDepth   = 24
	maxValues  = 20_000
	maxText    = 1 << 20 // bytes
	maxAliases = 1_000
	maxKey     = 128 // bytes
)

// Read returns the root of a text's only document, or nil if the text has no document. All keys of the tree are names
// that are unique in their mapping. The tree has no merge keys, no tags of other programs, and no alias that contains
// itself. An error is an invalid fault that names the file, the line and, if known, the column and the field. If name
// is empty, it names no place.
func Read(name string, raw []byte) (*yaml.Node, error) {
	if len(raw) > MaxBytes {
		return nil, invalid(name, "larger than %d KiB, the most that is read", MaxBytes>>10)
	}
	raw = bytes.TrimPrefix(raw, []byte("\ufeff"))
	if err := checkCharacters(name, raw); err != nil {
		return nil, err
	}

	in := yaml.NewDecoder(bytes.NewReader(raw))
	var doc, second yaml.Node
	err := in.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err != nil {
		return nil, syntax(name, raw, err)
	}
	err = in.Decode(&second)
	if err == nil {
		w := walker{name: name}
		return nil, w.fail(&second, "a second document begins here; expected exactly one")
	}
	if !errors.Is(err, io.EOF) {
		return nil, syntax(name, raw, err)
	}
	if len(doc.Content) == 0 {
		return nil, nil
	}

	w := walker{name: name, open: map[*yaml.Node]bool{}, anchors: map[*yaml.Node]extent{}}
	_, err = w.visit(doc.Content[0], 0)

	return doc.Content[0], err
}

func invalid(name, format string, args ...any) error {
	if name != "" {
		name += ": "
	}

	return fault.New(fault.Invalid, "%s%s", name, fmt.Sprintf(format, args...))
}

// checkCharacters refuses bytes that are not UTF-8 and characters that YAML does not allow, and names their place.
func checkCharacters(name string, raw []byte) error {
	for rest := raw; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		before := raw[:len(raw)-len(rest)]
		switch {
		case r == utf8.RuneError && size == 1:
			return invalid(place(name, before), "not UTF-8: found the byte 0x%02x", rest[0])
		case r < ' ' && r != '\t' && r != '\n' && r != '\r',
			r == 0x7f, r > 0x7f && r < 0xa0 && r != 0x85, r == 0xfeff, r == 0xfffe, r == 0xffff:
			return invalid(place(name, before), "the character %U is not allowed", r)
		}
		rest = rest[size:]
	}

	return nil
}

// place returns name:line:column of the position after before, or "" without a name.
func place(name string, before []byte) string {
	if name == "" {
		return ""
	}
	line := bytes.Count(before, []byte("\n")) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1

	return fmt.Sprintf("%s:%d:%d", name, line, column)
}

// Value returns a text as the value that another program would read: a number, a date, a list, and so on. Numbers must
// be finite.
func Value(text string) (any, error) {
	root, err := Read("", []byte(text))
	if err != nil || root == nil {
		return nil, err
	}
	if err := checkFinite(root); err != nil {
		return nil, err
	}
	var value any
	if err := root.Decode(&value); err != nil {
		return nil, fault.As(fault.Invalid, err)
	}

	return value, nil
}

// checkFinite returns an error if a node contains an infinite number or NaN.
func checkFinite(node *yaml.Node) error {
	var x float64
	if node.ShortTag() == "!!float" && node.Decode(&x) == nil && (math.IsInf(x, 0) || math.IsNaN(x)) {
		return invalid("", "expected a finite number, not %s", node.Value)
	}
	for _, c := range node.Content {
		if err := checkFinite(c); err != nil {
			return err
		}
	}

	return nil
}
