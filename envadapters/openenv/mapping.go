package openenv

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"text/template"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
)

// Bounds of an observation.
const (
	maxElements    = 5000
	maxElementText = 2000 // bytes
)

// mapping is a prepared envadapters.Mapping.
type mapping struct {
	envadapters.Mapping
	line          *regexp.Regexp
	action, reset *template.Template
}

// foreign tells whether there is a mapping at all.
func (m mapping) foreign() bool {
	x := m.Mapping
	return x.Goal+x.Text+x.Line+x.Elements+x.Score+x.Action+x.Reset+x.Family != "" || len(x.Tasks) > 0 || len(x.Fields) > 0
}

func prepare(m envadapters.Mapping) (mapping, error) {
	out := mapping{Mapping: m}
	var err error
	if m.Line != "" {
		if out.line, err = regexp.Compile(m.Line); err != nil {
			return out, fault.New(fault.Invalid, "openenv: mapping.line: expected a regular expression with groups such as (?P<text>…): %w", err)
		}
	}
	for _, t := range []struct {
		field, text string
		to          **template.Template
	}{{"action", m.Action, &out.action}, {"reset", m.Reset, &out.reset}} {
		if t.text == "" {
			continue
		}
		if *t.to, err = template.New(t.field).Option("missingkey=error").Funcs(template.FuncMap{"json": asJSON, "browsergym": browserGym}).Parse(t.text); err != nil {
			return out, fault.New(fault.Invalid, "openenv: mapping.%s: expected a template that gives JSON: %w", t.field, err)
		}
	}
	if m.Family != "" && m.Family != string(domain.FamilyMobile) && m.Family != string(domain.FamilyWeb) {
		return out, fault.New(fault.Invalid, "openenv: mapping.family: expected mobile or web, not %q", m.Family)
	}
	for k := range m.Fields {
		switch k {
		case "id", "role", "text", "desc", "value", "editable":
		default:
			return out, fault.New(fault.Invalid, "openenv: mapping.fields: unknown %q; known are id, role, text, desc, value, editable", k)
		}
	}
	return out, nil
}

func asJSON(v any) (string, error) {
	b, err := json.Marshal(v)
	return string(b), err
}

// render gives a template's JSON, or def where there is none.
func render(t *template.Template, data, def any) (any, error) {
	if t == nil {
		return def, nil
	}
	var b bytes.Buffer
	if err := t.Execute(&b, data); err != nil {
		return nil, fault.New(fault.Invalid, "openenv: mapping.%s: %w", t.Name(), err)
	}
	if !json.Valid(b.Bytes()) {
		return nil, fault.New(fault.Invalid, "openenv: mapping.%s gave no JSON: %.200s", t.Name(), b.String())
	}
	return json.RawMessage(b.Bytes()), nil
}

// at follows a dotted path through decoded JSON; nil where it leads nowhere.
func at(v any, path string) any {
	for _, k := range strings.Split(strings.TrimPrefix(strings.TrimPrefix(path, "$"), "."), ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[k]
		case []any:
			i, err := strconv.Atoi(k)
			if err != nil || i < 0 || i >= len(x) {
				return nil
			}
			v = x[i]
		default:
			return nil
		}
	}
	return v
}

func text(v any) string {
	switch x := v.(type) {
	case nil:
		return ""
	case string:
		return x
	case float64:
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	s, _ := asJSON(v) // decoded JSON is JSON
	return s
}

// observation reads a foreign observation.
func (m mapping) observation(raw json.RawMessage) (Observation, error) {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return Observation{}, err
	}
	var o Observation
	if m.Goal != "" {
		o.Goal = text(at(v, m.Goal))
	}
	if m.Elements != "" {
		list, _ := at(v, m.Elements).([]any)
		for _, x := range list {
			get := func(k string) any {
				if p := m.Fields[k]; p != "" {
					return at(x, p)
				}
				return at(x, k)
			}
			e := domain.Element{ID: text(get("id")), Role: text(get("role")), Text: text(get("text")), Desc: text(get("desc")), Value: text(get("value"))}
			e.Editable, _ = get("editable").(bool)
			o.Elements = append(o.Elements, e)
		}
	}
	if m.Text != "" {
		for _, l := range strings.Split(text(at(v, m.Text)), "\n") {
			if e, ok := m.element(l); ok {
				o.Elements = append(o.Elements, e)
			}
		}
	}
	o.Elements = o.Elements[:min(len(o.Elements), maxElements)]
	for i := range o.Elements {
		e := &o.Elements[i]
		e.Index, e.Visible = i, true
		if e.Role == "" {
			e.Role = "text"
		}
		if e.ID == "" && m.Family == string(domain.FamilyWeb) {
			e.ID = domain.NoID
		}
	}
	if m.Score != "" {
		if s, ok := number(at(v, m.Score)); ok {
			o.Score = &s
		}
	}
	return o, nil
}

// element reads a line of text; lines that the expression does not match are left out.
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
	e := domain.Element{ID: group("id"), Role: strings.ToLower(group("role")), Text: group("text"), Value: group("value")}
	switch e.Role {
	case "textbox", "searchbox", "field", "combobox":
		e.Editable = true
	}
	return e, true
}

// number reads a JSON number or truth.
func number(v any) (float64, bool) {
	switch x := v.(type) {
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

// browserGym writes an action as BrowserGym's agents do; it needs the element's ID.
func browserGym(a Act) string {
	q := func(s string) string { b, _ := json.Marshal(s); return string(b) }
	switch a.Type {
	case domain.ActionClick:
		return "click(" + q(a.ID) + ")"
	case domain.ActionDoubleTap:
		return "dblclick(" + q(a.ID) + ")"
	case domain.ActionHover, domain.ActionLongPress:
		return "hover(" + q(a.ID) + ")"
	case domain.ActionTypeString, domain.ActionInputText:
		return "fill(" + q(a.ID) + ", " + q(a.Text) + ")"
	case domain.ActionSelect:
		return "select_option(" + q(a.ID) + ", " + q(a.Option) + ")"
	case domain.ActionScroll, domain.ActionScrollPage:
		return fmt.Sprintf("scroll(%d, %d)", map[string]int{"left": -300, "right": 300}[a.Direction], map[string]int{"up": -300, "down": 300}[a.Direction])
	case domain.ActionGo:
		return map[string]string{"backward": "go_back()", "forward": "go_forward()"}[a.Direction]
	case domain.ActionBack:
		return "go_back()"
	case domain.ActionEnter:
		return `keyboard_press("Enter")`
	case domain.ActionJumpTo:
		return "goto(" + q(a.URL) + ")"
	case domain.ActionSwitchTab:
		return fmt.Sprintf("tab_focus(%d)", a.Tab-1)
	case domain.ActionFinish, domain.ActionAnswer:
		return "send_msg_to_user(" + q(a.Answer+a.Action.Text) + ")"
	case domain.ActionUserInput:
		return "report_infeasible(" + q(a.Message) + ")"
	case domain.ActionStatus:
		if a.GoalStatus == domain.StatusInfeasible {
			return `report_infeasible("")`
		}
		return `send_msg_to_user("")`
	}
	return "noop()"
}

// Act is what an action template sees: the action and the element that it names.
type Act struct {
	domain.Action
	ID   string // of the element
	Said string // the element's text
}
