package yamldoc

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/collabui/collabui/fault"
)

// walker visits every node of a tree once and does not follow aliases: the value of an anchor is measured where it is
// defined.
type walker struct {
	name    string
	path    []string // the fields and indices that lead to the node
	open    map[*yaml.Node]bool
	anchors map[*yaml.Node]extent
	aliases int
}

// extent is the size of a node with all its contents, with aliases followed.
type extent struct{ values, text, depth int }

// plus adds the extent of a node that e contains.
func (e extent) plus(inner extent) extent {
	return extent{e.values + inner.values, e.text + inner.text, max(e.depth, inner.depth+1)}
}

// fail returns an invalid fault with the place and the field of a node.
func (w *walker) fail(node *yaml.Node, format string, args ...any) error {
	at := ""
	if w.name != "" {
		at = fmt.Sprintf("%s:%d:%d: ", w.name, node.Line, node.Column)
	}
	field := strings.TrimPrefix(strings.Join(w.path, ""), ".")
	if field != "" {
		field += ": "
	}

	return fault.New(fault.Invalid, "%s%s%s", at, field, fmt.Sprintf(format, args...))
}

// visit checks a node at depth level and all its contents.
func (w *walker) visit(node *yaml.Node, level int) (extent, error) {
	e := extent{values: 1, text: len(node.Value)}
	err := w.checkBounds(node, e, level)
	if err == nil {
		err = w.checkNode(node)
	}
	if err != nil {
		return e, err
	}

	w.open[node] = true
	switch node.Kind {
	case yaml.AliasNode:
		e = w.anchors[node.Alias]
	case yaml.MappingNode:
		e, err = w.mapping(node, e, level)
	default:
		for i, c := range node.Content {
			if e, err = w.inner(node, c, e, level, fmt.Sprintf("[%d]", i)); err != nil {
				break
			}
		}
	}
	delete(w.open, node)
	if err != nil {
		return e, err
	}
	if node.Anchor != "" {
		w.anchors[node] = e
	}

	return e, w.checkBounds(node, e, level)
}

// mapping visits the keys and values of a mapping.
func (w *walker) mapping(node *yaml.Node, e extent, level int) (extent, error) {
	lines := map[string]int{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		value := node.Content[i+1]
		if err := w.key(key, lines); err != nil {
			return e, err
		}
		lines[key.Value] = key.Line

		var err error
		e = e.plus(extent{values: 1, text: len(key.Value)})
		if e, err = w.inner(node, value, e, level, "."+key.Value); err != nil {
			return e, err
		}
	}

	return e, nil
}

// inner visits a value of a collection, and adds it to the extent of the collection.
func (w *walker) inner(node, value *yaml.Node, e extent, level int, step string) (extent, error) {
	w.path = append(w.path, step)
	inner, err := w.visit(value, level+1)
	if err != nil {
		return e, err
	}
	w.path = w.path[:len(w.path)-1]
	e = e.plus(inner)

	return e, w.checkBounds(node, e, level)
}

// checkBounds checks the bounds of a tree.
func (w *walker) checkBounds(node *yaml.Node, e extent, level int) error {
	switch {
	case level+e.depth > maxDepth:
		return w.fail(node, "nested deeper than %d levels", maxDepth)
	case e.values > maxValues:
		return w.fail(node, "more than %d values, counting all values of every alias", maxValues)
	case e.text > maxText:
		return w.fail(node, "more than %d KiB of text, counting all text of every alias", maxText>>10)
	}

	return nil
}

// tags lists the tags of values in this program's files. A value without an explicit tag also has one of them.
var tags = []string{"!!str", "!!int", "!!float", "!!bool", "!!null", "!!map", "!!seq"}

// checkNode checks a node without its contents.
func (w *walker) checkNode(node *yaml.Node) error {
	if node.Style&yaml.TaggedStyle != 0 && !slices.Contains(tags, node.ShortTag()) {
		return w.fail(node, "the tag %s is not supported; write the value itself", shorten(node.Tag))
	}
	if node.Kind != yaml.AliasNode {
		return nil
	}
	if w.open[node.Alias] {
		return w.fail(node, "the alias %s contains itself", shorten(node.Value))
	}
	if w.aliases++; w.aliases > maxAliases {
		return w.fail(node, "more than %d aliases", maxAliases)
	}

	return nil
}

// key checks a key of a mapping. lines holds the lines of the mapping's previous keys.
func (w *walker) key(node *yaml.Node, lines map[string]int) error {
	switch {
	case node.Kind == yaml.ScalarNode && node.Tag == "!!merge":
		return w.fail(node, "merge keys (<<) are not supported; write the keys themselves, or use an alias as a value")
	case node.Kind != yaml.ScalarNode || node.Value == "" || node.Tag == "!!null":
		return w.fail(node, "expected a name as the key")
	case len(node.Value) > maxKey:
		return w.fail(node, "the key %s is longer than %d bytes", shorten(node.Value), maxKey)
	}

	w.path = append(w.path, "."+node.Value)
	if err := w.checkNode(node); err != nil {
		return err
	}
	if line, twice := lines[node.Value]; twice {
		return w.fail(node, "given twice; first on line %d", line)
	}
	w.path = w.path[:len(w.path)-1]

	return nil
}

// shorten shortens a text of a file for an error.
func shorten(text string) string {
	const limit = 40
	if r := []rune(text); len(r) > limit {
		return string(r[:limit]) + "…"
	}

	return text
}
