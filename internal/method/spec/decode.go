package spec

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/collabui/collabui/fault"
)

// decoder decodes YAML strictly, by the JSON names of struct fields. It continues after a mistake, so people see all
// mistakes at once, with full field names. YAML libraries stop at the first mistake, or accept 2.5 as a whole number.
type decoder struct {
	file     string
	mistakes []mistake
	more     int                   // mistakes beyond these
	at       map[string]*yaml.Node // the values in the file by field
	unknown  []unknownKey          // the first unknown keys
}

// unknownKey is a key that the enclosing field does not have.
type unknownKey struct {
	field string
	hint
}

// mistake is a mistake at a place in a file.
type mistake struct {
	line, column int
	field, text  string
}

// maxMistakes is the maximum number of mistakes that are reported in detail. maxShown is the maximum length of a value
// in an error.
const (
	maxMistakes = 50
	maxShown    = 80 // bytes
)

// err returns all mistakes, in the order of the file, as one invalid fault, or nil.
func (d *decoder) err() error {
	if len(d.mistakes) == 0 {
		return nil
	}
	slices.SortStableFunc(d.mistakes, func(a, b mistake) int {
		return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.column, b.column))
	})
	var lines []string
	for _, mistake := range d.mistakes {
		line := mistake.text
		if mistake.field != "" {
			line = mistake.field + ": " + line
		}
		if d.file != "" {
			line = fmt.Sprintf("%s:%d:%d: %s", d.file, mistake.line, mistake.column, line)
		}
		lines = append(lines, line)
	}
	if d.more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more mistakes", d.more))
	}

	return fault.New(fault.Invalid, "%s", strings.Join(lines, "\n"))
}

func (d *decoder) fail(node *yaml.Node, field, format string, args ...any) {
	if len(d.mistakes) == maxMistakes {
		d.more++
		return
	}
	found := mistake{line: node.Line, column: node.Column, field: field, text: fmt.Sprintf(format, args...)}
	if !slices.Contains(d.mistakes, found) { // some parts are decoded twice
		d.mistakes = append(d.mistakes, found)
	}
}

// check reports impossible values, except of fields whose values could not be decoded, or are perhaps meant by an
// unknown key.
func (d *decoder) check(root *yaml.Node, check func(Must)) {
	known := slices.Clone(d.mistakes)
	for _, key := range d.unknown {
		if meant := Nearest(key.name, key.known); meant != "" {
			known = append(known, mistake{field: strings.TrimPrefix(key.field+"."+meant, ".")})
		}
	}
	check(func(ok bool, field, expected string, args ...any) {
		explains := func(mistake mistake) bool { return mistake.explains(field) }
		if !ok && !slices.ContainsFunc(known, explains) {
			d.fail(d.nearestNode(field, root), field, "expected "+expected, args...)
		}
	})
}

// explains reports whether a mistake is about a field, what encloses it, or an element of it.
func (m mistake) explains(field string) bool {
	rest, within := strings.CutPrefix(field, m.field)

	return m.field == "" || within && (rest == "" || rest[0] == '.' || rest[0] == '[') ||
		strings.HasPrefix(m.field, field+"[")
}

// nearestNode returns the value of a field in the file, or of the closest field that encloses it, or root.
func (d *decoder) nearestNode(field string, root *yaml.Node) *yaml.Node {
	for f := field; f != ""; f = f[:max(0, strings.LastIndexByte(f, '.'))] {
		if node, ok := d.at[f]; ok {
			return node
		}
	}

	return root
}

func (d *decoder) decode(node *yaml.Node, value reflect.Value, field string) {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	switch {
	case value.Type() == reflect.TypeFor[json.RawMessage](): // trainer.options, which needs the trainer's name
	case value.Kind() == reflect.Struct:
		d.structure(node, value, field)
	case value.Kind() == reflect.Map:
		d.table(node, value, field)
	case value.Kind() == reflect.Slice:
		d.list(node, value, field)
	default:
		d.scalar(node, value, field)
	}
}

// each calls visit for every key of a mapping.
func (d *decoder) each(node *yaml.Node, field string, visit func(key, value *yaml.Node, field string)) {
	if node.Kind != yaml.MappingNode {
		d.fail(node, field, "expected a mapping of names to values")
		return
	}

	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		value := node.Content[i+1]
		full := strings.TrimPrefix(field+"."+key.Value, ".")
		d.at[full] = value
		visit(key, value, full)
	}
}

func (d *decoder) structure(node *yaml.Node, v reflect.Value, field string) {
	fields := map[string]reflect.Value{}
	names := []string{}
	for _, f := range reflect.VisibleFields(v.Type()) {
		if f.Anonymous { // its own fields follow
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		fields[name] = v.FieldByIndex(f.Index)
		names = append(names, name)
	}

	d.each(node, field, func(key, value *yaml.Node, full string) {
		if f, ok := fields[key.Value]; ok {
			d.decode(value, f, full)
		} else {
			meant := hint{key.Value, names}
			d.fail(key, full, "unknown key; %s", meant)
			if len(d.unknown) < maxMistakes {
				d.unknown = append(d.unknown, unknownKey{field, meant})
			}
		}
	})
}

// table decodes a mapping whose keys the file chooses. Models are decoded over their defaults.
func (d *decoder) table(node *yaml.Node, v reflect.Value, field string) {
	v.Set(reflect.MakeMap(v.Type()))
	d.each(node, field, func(key, value *yaml.Node, full string) {
		e := reflect.New(v.Type().Elem())
		if model, ok := e.Interface().(*Model); ok {
			*model = DefaultModel()
		}
		d.decode(value, e.Elem(), full)
		v.SetMapIndex(reflect.ValueOf(key.Value).Convert(v.Type().Key()), e.Elem())
	})
}

func (d *decoder) list(node *yaml.Node, value reflect.Value, field string) {
	if node.Kind != yaml.SequenceNode {
		d.fail(node, field, "expected a list")
		return
	}

	value.Set(reflect.MakeSlice(value.Type(), len(node.Content), len(node.Content)))
	for i, c := range node.Content {
		d.decode(c, value.Index(i), fmt.Sprintf("%s[%d]", field, i))
	}
}

func (d *decoder) scalar(node *yaml.Node, value reflect.Value, field string) {
	before := reflect.New(value.Type()).Elem()
	before.Set(value)
	expected, ok := set(value, node.Value)
	if node.Kind != yaml.ScalarNode || node.Tag == "!!null" || !ok {
		value.Set(before) // so that other values are checked beside the default
	}
	switch {
	case node.Kind != yaml.ScalarNode || node.Tag == "!!null":
		d.fail(node, field, "expected %s", expected)
	case !ok:
		d.fail(node, field, "expected %s, not %s", expected, quote(node.Value))
	}
}

// hint is a suggestion that is computed only when it is printed.
type hint struct {
	name  string
	known []string
}

func (h hint) String() string { return suggest(h.name, h.known) }

// quote quotes at most maxShown bytes of a value.
func quote(text string) string {
	if len(text) > maxShown {
		return fmt.Sprintf("%q…", strings.ToValidUTF8(text[:maxShown], ""))
	}

	return strconv.Quote(text)
}

// set assigns text to value. It returns a description of the values that value can hold, and whether text is one of
// them.
func set(value reflect.Value, text string) (expected string, ok bool) {
	switch value.Kind() {
	case reflect.String:
		value.SetString(text)
		return "text", true
	case reflect.Bool:
		value.SetBool(text == "true")
		return "true or false", text == "true" || text == "false"
	case reflect.Int:
		x, err := strconv.Atoi(text)
		value.SetInt(int64(x))
		return "a whole number", err == nil
	case reflect.Uint64:
		x, err := strconv.ParseUint(text, 10, 64)
		value.SetUint(x)
		return "a whole number from 0", err == nil
	case reflect.Float64:
		x, err := strconv.ParseFloat(text, 64)
		value.SetFloat(x)
		return "a finite number", err == nil && !math.IsInf(x, 0) && !math.IsNaN(x)
	}

	panic("spec: a specification holds no " + value.Kind().String())
}
