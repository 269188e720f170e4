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

// decoder decodes YAML strictly, by the JSON names of struct fields. It continues after a mistake, so people see all of
// them, with full field names, in one go. YAML libraries stop at the first one, or take 2.5 for a whole number.
type decoder struct {
	file string
	errs []string
	more int                   // mistakes beyond those in errs
	at   map[string]*yaml.Node // the values in the file, by field
}

// maxMistakes is the number of mistakes that are reported one by one, and maxShown is how much of a value is.
const (
	maxMistakes = 50
	maxShown    = 80 // bytes
)

// err returns all mistakes as one invalid fault.
func (d *decoder) err() error {
	if d.more > 0 {
		d.errs = append(d.errs, fmt.Sprintf("and %d mistakes more", d.more))
	}
	if len(d.errs) == 0 {
		return nil
	}

	return fault.New(fault.Invalid, "%s", strings.Join(d.errs, "\n"))
}

func (d *decoder) fail(n *yaml.Node, field, format string, args ...any) {
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
		place = fmt.Sprintf("%s:%d:%d: ", d.file, n.Line, n.Column)
	}
	d.errs = append(d.errs, place+field+problem)
}

// near returns the value of a field, or of the closest enclosing mapping in the file.
func (d *decoder) near(field string, root *yaml.Node) *yaml.Node {
	for f := field; f != ""; f = f[:max(0, strings.LastIndexByte(f, '.'))] {
		if n, ok := d.at[f]; ok {
			return n
		}
	}

	return root
}

func (d *decoder) decode(n *yaml.Node, v reflect.Value, field string) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch {
	case v.Type() == reflect.TypeFor[json.RawMessage](): // trainer.options: the trainer may be named below them
	case v.Kind() == reflect.Struct:
		d.structure(n, v, field)
	case v.Kind() == reflect.Map:
		d.table(n, v, field)
	case v.Kind() == reflect.Slice:
		d.list(n, v, field)
	default:
		d.scalar(n, v, field)
	}
}

// each calls visit for every key of a mapping.
func (d *decoder) each(n *yaml.Node, field string, visit func(key, value *yaml.Node, field string)) {
	if n.Kind != yaml.MappingNode {
		d.fail(n, field, "expected a mapping of names to values")
		return
	}

	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		value := n.Content[i+1]
		full := strings.TrimPrefix(field+"."+key.Value, ".")
		d.at[full] = value
		visit(key, value, full)
	}
}

func (d *decoder) structure(n *yaml.Node, v reflect.Value, field string) {
	fields := map[string]reflect.Value{}
	names := []string{}
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		fields[name] = v.Field(i)
		names = append(names, name)
	}

	d.each(n, field, func(key, value *yaml.Node, full string) {
		if f, ok := fields[key.Value]; ok {
			d.decode(value, f, full)
		} else {
			d.fail(key, full, "unknown key; %s", hint{key.Value, names})
		}
	})
}

// table decodes a mapping from names that the file chooses. Models begin with their defaults.
func (d *decoder) table(n *yaml.Node, v reflect.Value, field string) {
	v.Set(reflect.MakeMap(v.Type()))
	d.each(n, field, func(key, value *yaml.Node, full string) {
		e := reflect.New(v.Type().Elem())
		if m, ok := e.Interface().(*Model); ok {
			*m = DefaultModel()
		}
		d.decode(value, e.Elem(), full)
		v.SetMapIndex(reflect.ValueOf(key.Value).Convert(v.Type().Key()), e.Elem())
	})
}

func (d *decoder) list(n *yaml.Node, v reflect.Value, field string) {
	if n.Kind != yaml.SequenceNode {
		d.fail(n, field, "expected a list")
		return
	}

	v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
	for i, c := range n.Content {
		d.decode(c, v.Index(i), fmt.Sprintf("%s[%d]", field, i))
	}
}

func (d *decoder) scalar(n *yaml.Node, v reflect.Value, field string) {
	expected, ok := set(v, n.Value)
	switch {
	case n.Kind != yaml.ScalarNode || n.Tag == "!!null":
		d.fail(n, field, "expected %s", expected)
	case !ok:
		d.fail(n, field, "expected %s, not %s", expected, quote(n.Value))
	}
}

// hint is a suggestion that is looked for only if it is shown.
type hint struct {
	name  string
	known []string
}

func (h hint) String() string { return suggest(h.name, h.known) }

// quote quotes the beginning of a value.
func quote(text string) string {
	if len(text) > maxShown {
		return fmt.Sprintf("%q…", strings.ToValidUTF8(text[:maxShown], ""))
	}

	return strconv.Quote(text)
}

// set assigns text to v. It returns what v can hold, and whether text is such a value.
func set(v reflect.Value, text string) (expected string, ok bool) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
		return "text", true
	case reflect.Bool:
		v.SetBool(text == "true")
		return "true or false", text == "true" || text == "false"
	case reflect.Int:
		x, err := strconv.Atoi(text)
		v.SetInt(int64(x))
		return "a whole number", err == nil
	case reflect.Uint64:
		x, err := strconv.ParseUint(text, 10, 64)
		v.SetUint(x)
		return "a whole number from 0", err == nil
	case reflect.Float64:
		x, err := strconv.ParseFloat(text, 64)
		v.SetFloat(x)
		return "a finite number", err == nil && !math.IsInf(x, 0) && !math.IsNaN(x)
	}

	panic("spec: a specification holds no " + v.Kind().String())
}
