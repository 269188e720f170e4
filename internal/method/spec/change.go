package spec

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/yamldoc"
)

// Values holds JSON values of keys by their dotted paths, such as train.beta.
type Values map[string]json.RawMessage

// With returns the specification with the given values of some keys. The values must come from Change; other values may
// lead to an error.
func (s Spec) With(values Values) (Spec, error) {
	if len(values) == 0 {
		return s, nil
	}
	raw, err := s.assign(values)
	if err != nil {
		return s, err
	}
	var out Spec
	if err := json.Unmarshal(raw, &out); err != nil {
		return s, fault.New(fault.Corrupt, "values %v do not fit the specification: %w", values.Keys(), err)
	}

	return out, nil
}

// Keys returns the keys in alphabetical order.
func (v Values) Keys() []string { return slices.Sorted(maps.Keys(v)) }

// Change parses values of keys that a person typed as YAML, and returns them for With. As in a file that src describes,
// names of files are replaced by their contents, and paths become absolute. The error is an invalid fault that lists
// all mistakes: unknown keys, keys that cannot be changed in a run, and impossible values.
func (s Spec) Change(typed map[string]string, src Source, catalog Catalog) (Values, error) {
	var fixed, wrong []string
	for _, key := range slices.Sorted(maps.Keys(typed)) {
		if s.isFixed(key) {
			fixed = append(fixed, key)
			wrong = append(wrong, key+": cannot be changed in a run; start a new run instead")
		}
	}
	others := maps.Clone(typed)
	maps.DeleteFunc(others, func(key, _ string) bool { return slices.Contains(fixed, key) })
	given, changed, err := s.set(others, src, catalog)
	if err != nil {
		wrong = append(wrong, err.Error())
	}
	if len(wrong) > 0 {
		return nil, fault.New(fault.Invalid, "%s", strings.Join(wrong, "\n"))
	}

	raw, err := changed.completeJSON()
	if err != nil {
		return nil, fault.As(fault.Fatal, err)
	}
	for key := range given {
		if rawMessage, ok := at(raw, strings.Split(key, ".")); ok {
			given[key] = rawMessage
		}
	}

	return given, nil
}

// Set returns the specification of another run that differs in some keys, whose values are typed as YAML. Unlike
// Change, it also accepts keys that cannot be changed in a run.
func (s Spec) Set(typed map[string]string, src Source, catalog Catalog) (Spec, error) {
	_, changed, err := s.set(typed, src, catalog)

	return changed, err
}

// maxSet is the maximum number of keys that can be set at once.
const maxSet = 200

// set returns the typed values as JSON, and the specification that has them.
func (s Spec) set(typed map[string]string, src Source, catalog Catalog) (Values, Spec, error) {
	if len(typed) > maxSet {
		return nil, s, fault.New(fault.Invalid, "%d keys are set; expected at most %d", len(typed), maxSet)
	}
	given := Values{}
	wrong := []string{}
	for _, key := range slices.Sorted(maps.Keys(typed)) {
		node, err := yamldoc.Read("", []byte(typed[key]))
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("%s: expected a value as in a specification, not %s: %v",
				key, quote(typed[key]), err))
			continue
		}
		given[key] = yamldoc.JSON(node)
	}

	raw, err := s.assign(given)
	if err != nil {
		return nil, s, err
	}
	src.Name = "" // no file whose lines could be named
	changed, err := Parse(src, raw, catalog)
	if err != nil {
		wrong = append(wrong, err.Error())
	}
	if len(wrong) > 0 {
		return nil, s, fault.New(fault.Invalid, "%s", strings.Join(wrong, "\n"))
	}

	return given, changed, nil
}

// Changeable reports whether a run can change all of these keys. A fork may differ in the same keys.
func (s Spec) Changeable(typed map[string]string) bool {
	for key := range typed {
		if s.isFixed(key) {
			return false
		}
	}

	return true
}

// Value returns the value of a key as JSON, which is also YAML. It returns false if the key does not exist.
func (s Spec) Value(key string) (string, bool) {
	raw, _ := s.completeJSON() // a specification that has been checked can be encoded
	rawMessage, ok := at(raw, strings.Split(key, "."))

	return string(rawMessage), ok
}

// isFixed reports whether a key exists and cannot be changed in a run.
func (s Spec) isFixed(key string) bool {
	top, _, _ := strings.Cut(key, ".")
	raw, _ := s.completeJSON() // a specification that has been stored can be encoded
	_, exists := at(raw, []string{top})
	_, changeable := s.EffectOf(key)

	return exists && !changeable
}

// assign returns the JSON of the specification with the given values of some keys.
func (s Spec) assign(values Values) (json.RawMessage, error) {
	raw, err := s.completeJSON()
	if err != nil {
		return nil, fault.As(fault.Fatal, err)
	}
	for _, key := range values.Keys() {
		if raw, err = put(raw, strings.Split(key, "."), values[key]); err != nil {
			return nil, fault.New(fault.Invalid, "%s: there is no such key", key)
		}
	}

	return raw, nil
}

// put returns a JSON object in which the value at a path is replaced or added.
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

// at returns the value at a path in a JSON object.
func at(doc json.RawMessage, path []string) (json.RawMessage, bool) {
	for _, name := range path {
		var m map[string]json.RawMessage
		if json.Unmarshal(doc, &m) != nil {
			return nil, false
		}
		rawMessage, ok := m[name]
		if !ok {
			return nil, false
		}
		doc = rawMessage
	}

	return doc, true
}
