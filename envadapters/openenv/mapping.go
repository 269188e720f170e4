package openenv

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/domain/templates"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
)

// mapping is a prepared envadapters.Mapping.
type mapping struct {
	envadapters.Mapping
	line          *regexp.Regexp
	action, reset *templates.Template
}

// mappedFields are the fields of an element that a mapping can name.
var mappedFields = []string{"id", "role", "text", "desc", "value", "editable"}

// foreign reports whether the options contain a mapping.
func (m mapping) foreign() bool {
	x := m.Mapping
	return x.Goal+x.Text+x.Line+x.Elements+x.Score+x.Action+x.Reset+x.Family != "" ||
		len(x.Tasks) > 0 || len(x.Fields) > 0
}

func prepare(m envadapters.Mapping) (mapping, error) {
	out := mapping{Mapping: m}

	var err error
	if m.Line != "" {
		if out.line, err = regexp.Compile(m.Line); err != nil {
			return out, fault.New(fault.Invalid,
				"openenv: mapping.line: expected a regular expression with groups such as (?P<text>…): %w", err)
		}
	}

	if out.action, err = parse("action", m.Action); err != nil {
		return out, err
	}
	if out.reset, err = parse("reset", m.Reset); err != nil {
		return out, err
	}

	if m.Family != "" && m.Family != string(domain.FamilyMobile) && m.Family != string(domain.FamilyWeb) {
		return out, fault.New(fault.Invalid, "openenv: mapping.family: expected mobile or web, not %q", m.Family)
	}

	for key := range m.Fields {
		if !slices.Contains(mappedFields, key) {
			return out, fault.New(fault.Invalid, "openenv: mapping.fields: unknown %q; known are %s",
				key, strings.Join(mappedFields, ", "))
		}
	}

	return out, nil
}

// parse parses a template. It returns nil for an empty text.
func parse(field, text string) (*templates.Template, error) {
	if text == "" {
		return nil, nil
	}
	t, err := templates.Parse(text, template.FuncMap{"json": templates.JSON, "browsergym": browserGym})
	if err != nil {
		return nil, fault.New(fault.Invalid, "openenv: mapping.%s: expected a template of JSON: %w", field, err)
	}

	return t, nil
}

// render executes the template of a field, whose result must be JSON. If t is nil, it returns def.
func render(field string, t *templates.Template, data, def any) (any, error) {
	if t == nil {
		return def, nil
	}
	out, err := t.Execute("", data)
	if err != nil {
		return nil, fault.New(fault.Invalid, "openenv: mapping.%s: %w", field, err)
	}
	if !json.Valid([]byte(out)) {
		return nil, fault.New(fault.Invalid, "openenv: mapping.%s: the result is not JSON: %.200s", field, out)
	}

	return json.RawMessage(out), nil
}

// description describes a server that does not describe itself.
func (m mapping) description() Description {
	names := slices.Clone(m.Tasks)
	if len(names) == 0 {
		names = []string{"default"}
	}

	d := Description{Splits: domain.Splits}
	train, held := envadapters.HoldOut(names)
	for _, split := range domain.Splits {
		of := train
		if split == domain.SplitTestTemplates {
			of = held
		}
		for _, name := range of {
			d.Tasks = append(d.Tasks, Task{Name: name, Split: split, MaxSteps: defaultSteps})
		}
	}

	return d
}

// observation reads the observation of a server without the profile.
func (m mapping) observation(raw json.RawMessage) (Observation, error) {
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return Observation{}, err
	}

	var o Observation
	if m.Goal != "" {
		o.Goal = text(at(value, m.Goal))
	}

	if m.Elements != "" {
		list, _ := at(value, m.Elements).([]any)
		for _, x := range list {
			o.Elements = append(o.Elements, m.object(x))
		}
	}

	if m.Text != "" {
		for line := range strings.SplitSeq(text(at(value, m.Text)), "\n") {
			if element, ok := m.element(line); ok {
				o.Elements = append(o.Elements, element)
			}
		}
	}

	o.Elements = o.Elements[:min(len(o.Elements), maxElements)]
	for i := range o.Elements {
		e := &o.Elements[i]
		e.Index = i
		e.Visible = true
		if e.Role == "" {
			e.Role = "text"
		}
		if e.ID == "" && m.Family == string(domain.FamilyWeb) {
			e.ID = domain.NoID
		}
	}

	if m.Score != "" {
		if s, ok := number(at(value, m.Score)); ok {
			o.Score = &s
		}
	}

	return o, nil
}

// object reads an element from an object.
func (m mapping) object(value any) domain.Element {
	get := func(key string) any {
		if p := m.Fields[key]; p != "" {
			key = p
		}
		return at(value, key)
	}
	editable, _ := get("editable").(bool)

	return domain.Element{
		ID:       text(get("id")),
		Role:     text(get("role")),
		Text:     text(get("text")),
		Desc:     text(get("desc")),
		Value:    text(get("value")),
		Editable: editable,
	}
}

// element reads an element from a line of text. It skips lines that the expression does not match.
func (m mapping) element(line string) (domain.Element, bool) {
	if m.line == nil {
		line = strings.TrimSpace(line)
		return domain.Element{Role: "text", Text: line}, line != ""
	}

	found := m.line.FindStringSubmatch(line)
	if found == nil {
		return domain.Element{}, false
	}

	group := func(name string) string {
		if i := m.line.SubexpIndex(name); i >= 0 {
			return found[i]
		}
		return ""
	}
	e := domain.Element{
		ID:    group("id"),
		Role:  strings.ToLower(group("role")),
		Text:  group("text"),
		Value: group("value"),
	}
	switch e.Role {
	case "textbox", "searchbox", "field", "combobox":
		e.Editable = true
	}

	return e, true
}

// at follows a dotted path through decoded JSON. It returns nil if the path does not exist.
func at(value any, path string) any {
	for key := range strings.SplitSeq(strings.TrimPrefix(strings.TrimPrefix(path, "$"), "."), ".") {
		switch x := value.(type) {
		case map[string]any:
			value = x[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(x) {
				return nil
			}
			value = x[i]
		default:
			return nil
		}
	}

	return value
}

// text returns decoded JSON as text.
func text(value any) string {
	switch x := value.(type) {
	case nil:
		return ""
	case string:
		return x
	case float64:
		return strconv.FormatFloat(x, 'f', -1, 64)
	}

	raw, _ := json.Marshal(value) // decoded JSON always encodes

	return string(raw)
}

// number converts a decoded JSON number, or a boolean to 1 or 0.
func number(value any) (float64, bool) {
	switch x := value.(type) {
	case float64:
		return x, true
	case bool:
		if x {
			return 1, true
		}
		return 0, true
	}

	return 0, false
}
