package spec

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/collabui/collabui/fault"
)

// decoder decodes YAML strictly, by the JSON names of struct fields. It continues after a mistake, so people see all
// mistakes at once, with full field names. YAML libraries stop at the first mistake, or accept 2.5 as a whole number.
type decoder struct {
	file string
	errs []string
	more int                   // mistakes beyond those in errs
	at   map[string]*yaml.Node // the values in the file by field
}

// maxMistakes is the maximum number of mistakes that are reported in detail. maxShown is the maximum length of a value
// in an error.
const (
	maxMistakes = 50
	maxShown    = 80 // bytes
)

// err returns all mistakes as one invalid fault, or nil.
func (d *decoder) err() error {
	if d.more > 0 {
		d.errs = append(d.errs, fmt.Sprintf("and %d more mistakes", d.more))
	}
	if len(d.errs) == 0 {
		return nil
	}

	return fault.New(fault.Invalid, "%s", strings.Join(d.errs, "\n"))
}

func (d *decoder) fail(node *yaml.Node, field, format string, args ...any) {
	if len(d.errs) == maxMistakes {
		d.more++
		return
	}
	if field != "" {
		field += ": "
	}
	problem := fmt.Sprintf(format, args...)
	place := ""
	if d.file != "" {
		place = fmt.Sprintf("%s:%d:%d: ", d.file, node.Line, node.Column)
	}
	d.errs = append(d.errs, place+field+problem)
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
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		fields[name] = v.Field(i)
		names = append(names, name)
	}

	d.each(node, field, func(key, value *yaml.Node, full string) {
		if f, ok := fields[key.Value]; ok {
			d.decode(value, f, full)
		} else {
			d.fail(key, full, "unknown key; %s", hint{key.Value, names})
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
	expected, ok := set(value, node.Value)
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
