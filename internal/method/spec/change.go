package spec

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/collabui/collabui/fault"
)

// Values are values of keys, by their dotted paths, such as train.beta.
type Values map[string]json.RawMessage

// With returns the specification with other values of some keys. It takes what Change returned; anything else may be an
// error.
func (s Spec) With(v Values) (Spec, error) {
	if len(v) == 0 {
		return s, nil
	}
	raw, err := s.assign(v)
	if err != nil {
		return s, err
	}
	var out Spec
	if err := json.Unmarshal(raw, &out); err != nil {
		return s, fault.New(fault.Corrupt, "values %v do not fit the specification: %w", v.Keys(), err)
	}

	return out, nil
}

// Keys returns the keys in order.
func (v Values) Keys() []string { return slices.Sorted(maps.Keys(v)) }

// Change returns the values of keys as a person typed them, in YAML. Names of files are replaced by what they hold, and
// paths become absolute, as in a file that src describes. The error lists all mistakes: keys that are unknown or that a
// run has for good, and values that are impossible.
func (s Spec) Change(typed map[string]string, src Source, c Catalog) (Values, error) {
	given, wrong := Values{}, []string{}
	for _, key := range slices.Sorted(maps.Keys(typed)) {
		if s.forGood(key) {
			wrong = append(wrong, key+": a run has it for good; start a new run instead")
			continue
		}
		var v any
		err := yaml.Unmarshal([]byte(typed[key]), &v)
		if err == nil {
			given[key], err = json.Marshal(v)
		}
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("%s: expected a value as in a specification, not %q", key, typed[key]))
		}
	}

	raw, err := s.assign(given)
	if err != nil {
		return nil, err
	}
	src.Name = "" // there is no file whose lines could be named
	changed, err := Parse(src, raw, c)
	if err != nil {
		wrong = append(wrong, err.Error())
	}
	if len(wrong) > 0 {
		return nil, fault.New(fault.Invalid, "%s", strings.Join(wrong, "\n"))
	}
	if raw, err = json.Marshal(changed); err != nil {
		return nil, fault.As(fault.Fatal, err)
	}
	for key := range given {
		if v, ok := at(raw, strings.Split(key, ".")); ok {
			given[key] = v
		}
	}

	return given, nil
}

// forGood reports whether a key exists that cannot be changed in a run.
func (s Spec) forGood(key string) bool {
	top, _, _ := strings.Cut(key, ".")
	raw, _ := json.Marshal(s) // a specification that was stored can be encoded
	_, exists := at(raw, []string{top})
	_, changeable := s.EffectOf(key)

	return exists && !changeable
}

// assign returns the JSON of the specification with other values of some keys.
func (s Spec) assign(v Values) (json.RawMessage, error) {
	raw, err := json.Marshal(s)
	if err != nil {
		return nil, fault.As(fault.Fatal, err)
	}
	for _, key := range v.Keys() {
		if raw, err = put(raw, strings.Split(key, "."), v[key]); err != nil {
			return nil, fault.New(fault.Invalid, "%s: there is no such key", key)
		}
	}

	return raw, nil
}

// put returns a JSON object with the value of a path replaced or added.
func put(doc json.RawMessage, path []string, value json.RawMessage) (json.RawMessage, error) {
	if len(path) == 0 {
		return value, nil
	}
	m := map[string]json.RawMessage{}
	if len(doc) > 0 {
		if err := json.Unmarshal(doc, &m); err != nil {
			return nil, err
		}
	}
	if m == nil { // null
		m = map[string]json.RawMessage{}
	}
	inner, err := put(m[path[0]], path[1:], value)
	if err != nil {
		return nil, err
	}
	m[path[0]] = inner

	return json.Marshal(m)
}

// at returns the value of a path in a JSON object.
func at(doc json.RawMessage, path []string) (json.RawMessage, bool) {
	for _, name := range path {
		var m map[string]json.RawMessage
		if json.Unmarshal(doc, &m) != nil {
			return nil, false
		}
		v, ok := m[name]
		if !ok {
			return nil, false
		}
		doc = v
	}

	return doc, true
}
