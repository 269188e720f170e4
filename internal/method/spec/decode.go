package spec

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/collabui/collabui/fault"
)

// Load reads a specification file over the defaults. Errors name file, line, column, the field, what was expected and the nearest known name; all
// errors of a file are given at once.
func Load(path string) (Spec, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return Spec{}, fault.New(fault.Invalid, "read the specification: %w", err)
	}
	return Parse(path, raw)
}

// Parse is Load on bytes; name stands for the file in errors.
func Parse(name string, raw []byte) (Spec, error) {
	s := Default()
	d := &decoder{file: name, at: map[string]*yaml.Node{}}
	var doc yaml.Node
	if err := yaml.Unmarshal(raw, &doc); err != nil {
		return s, fault.New(fault.Invalid, "%s: %s", name, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if len(doc.Content) == 0 {
		return s, fault.New(fault.Invalid, "%s:1:1: the file is empty; expected a mapping with at least 'name'", name)
	}
	d.decode(doc.Content[0], reflect.ValueOf(&s).Elem(), "")
	if len(d.errs) == 0 {
		d.prompts(&s, filepath.Dir(name))
		d.data(&s, filepath.Dir(name))
	}
	if len(d.errs) == 0 {
		for _, p := range s.check() {
			d.fail(d.near(p.field, doc.Content[0]), p.field, "expected %s", p.expected)
		}
	}
	if len(d.errs) > 0 {
		return s, fault.New(fault.Invalid, "%s", strings.Join(d.errs, "\n"))
	}
	return s, nil
}

// prompts puts the text of the templates in place of their files' names, so that a stored specification needs no file.
func (d *decoder) prompts(s *Spec, dir string) {
	for _, role := range slices.Sorted(maps.Keys(s.Prompts)) {
		file := s.Prompts[role]
		if !filepath.IsAbs(file) {
			file = filepath.Join(dir, file)
		}
		raw, err := os.ReadFile(file)
		if err != nil {
			d.fail(d.at["prompts."+role], "prompts."+role, "expected a file with a prompt template: %v", err)
			continue
		}
		s.Prompts[role] = string(raw)
	}
}

// data makes the paths of environments absolute: they are read beside the specification, but opened by workers.
func (d *decoder) data(s *Spec, dir string) {
	for name, o := range s.Environments {
		if o.Data == "" || filepath.IsAbs(o.Data) {
			continue
		}
		abs, err := filepath.Abs(filepath.Join(dir, o.Data))
		if err != nil {
			d.fail(d.at["environments."+name+".data"], "environments."+name+".data", "expected a path: %v", err)
			continue
		}
		o.Data = abs
		s.Environments[name] = o
	}
}

type decoder struct {
	file string
	errs []string
	at   map[string]*yaml.Node // where each field was given
}

func (d *decoder) fail(n *yaml.Node, field, format string, args ...any) {
	if field != "" {
		field += ": "
	}
	d.errs = append(d.errs, fmt.Sprintf("%s:%d:%d: %s%s", d.file, n.Line, n.Column, field, fmt.Sprintf(format, args...)))
}

// near is the node of a field, or of the closest enclosing mapping that was given.
func (d *decoder) near(field string, root *yaml.Node) *yaml.Node {
	for f := field; f != ""; f = f[:max(0, strings.LastIndexByte(f, '.'))] {
		if n, ok := d.at[f]; ok {
			return n
		}
	}
	return root
}

func (d *decoder) decode(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if t, ok := v.Addr().Interface().(*Trainer); ok {
		d.trainer(n, t, path)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		d.mapping(n, v, path)
	case reflect.Map:
		d.named(n, v, path)
	case reflect.Slice:
		if n.Kind != yaml.SequenceNode {
			d.fail(n, path, "expected a list")
			return
		}
		out := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
		for i, c := range n.Content {
			d.decode(c, out.Index(i), fmt.Sprintf("%s[%d]", path, i))
		}
		v.Set(out)
	default:
		d.scalar(n, v, path)
	}
}

func (d *decoder) mapping(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.MappingNode {
		d.fail(n, path, "expected a mapping of names to values")
		return
	}
	fields, names := map[string]reflect.Value{}, []string{}
	for i := range v.NumField() {
		name := v.Type().Field(i).Tag.Get("yaml")
		fields[name], names = v.Field(i), append(names, name)
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		full := strings.TrimPrefix(path+"."+k.Value, ".")
		f, ok := fields[k.Value]
		if !ok {
			d.fail(k, full, "unknown key%s", nearest(k.Value, names))
			continue
		}
		if line, twice := seen[k.Value]; twice {
			d.fail(k, full, "given twice; first on line %d", line)
			continue
		}
		seen[k.Value] = k.Line
		d.at[full] = n.Content[i+1]
		d.decode(n.Content[i+1], f, full)
	}
}

// named decodes a mapping from names that the file chooses; models begin with their defaults.
func (d *decoder) named(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.MappingNode {
		d.fail(n, path, "expected a mapping of names to values")
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		full := path + "." + k.Value
		if d.at[full] != nil {
			d.fail(k, full, "given twice; first on line %d", d.at[full].Line)
			continue
		}
		d.at[full] = n.Content[i+1]
		e := reflect.New(v.Type().Elem())
		if m, ok := e.Interface().(*Model); ok {
			*m = DefaultModel()
		}
		d.decode(n.Content[i+1], e.Elem(), full)
		v.SetMapIndex(reflect.ValueOf(k.Value), e.Elem())
	}
}

func (d *decoder) scalar(n *yaml.Node, v reflect.Value, path string) {
	want := map[reflect.Kind]string{reflect.String: "text", reflect.Int: "a whole number", reflect.Uint64: "a whole number from 0", reflect.Float64: "a number", reflect.Bool: "true or false"}[v.Kind()]
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		d.fail(n, path, "expected %s", want)
		return
	}
	var err error
	switch v.Kind() {
	case reflect.String:
		v.SetString(n.Value)
	case reflect.Int:
		var x int
		if x, err = strconv.Atoi(n.Value); err == nil {
			v.SetInt(int64(x))
		}
	case reflect.Uint64:
		var x uint64
		if x, err = strconv.ParseUint(n.Value, 10, 64); err == nil {
			v.SetUint(x)
		}
	case reflect.Float64:
		var x float64
		if x, err = strconv.ParseFloat(n.Value, 64); err == nil {
			v.SetFloat(x)
		}
	case reflect.Bool:
		if n.Value != "true" && n.Value != "false" {
			err = strconv.ErrSyntax
		}
		v.SetBool(n.Value == "true")
	}
	if err != nil {
		d.fail(n, path, "expected %s, not %q", want, n.Value)
	}
}

// nearest suggests the known name with the smallest edit distance.
func nearest(name string, known []string) string {
	best, dist := "", len(name)/2+2
	for _, k := range known {
		if n := distance(name, k); n < dist {
			best, dist = k, n
		}
	}
	if best == "" {
		return "; known are " + strings.Join(known, ", ")
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// distance is Levenshtein's.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diag := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diag
			if a[i] != b[j] {
				cost++
			}
			diag = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
