package agents

import (
	"encoding/json"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/collabui/collabui/domain"
)

// Repair names a deviation of an answer from the form that the prompt specifies, which is accepted nevertheless. The
// table in docs/method.md (What is read) has an example of each.
type Repair string

// The repairs of the form of an answer.
const (
	RepairMark    Repair = "mark"       // another form of "Action:"
	RepairBare    Repair = "bare"       // no "Action:", but the answer, or the code fence at its end, is an object
	RepairQuotes  Repair = "quotes"     // single quotes
	RepairWidth   Repair = "full-width" // full-width or curly punctuation
	RepairComma   Repair = "comma"      // a comma after the last member
	RepairKey     Repair = "key"        // a key without quotes
	RepairLiteral Repair = "literal"    // True, False and None
	RepairBreak   Repair = "break"      // a line break or a tab within a text
	RepairEscape  Repair = "escape"     // a backslash that escapes nothing in JSON
)

// The repairs of an action.
const (
	RepairNumber  Repair = "number"  // a whole number as text or with a decimal point
	RepairText    Repair = "text"    // a number or a flag where text is expected
	RepairFlag    Repair = "flag"    // a flag as text or as a number
	RepairCase    Repair = "case"    // different case, or blanks and hyphens, in a name
	RepairSynonym Repair = "synonym" // another name of an action type or of a value
	RepairField   Repair = "field"   // a field that the action type does not use
	RepairFamily  Repair = "family"  // the type under the key of the other family
)

// typeKeys maps a family to the JSON key of its action types.
var typeKeys = map[domain.Family]string{domain.FamilyMobile: "action_type", domain.FamilyWeb: "action"}

// otherFamily maps a family to the one that is tried if an action is invalid in it.
var otherFamily = map[domain.Family]domain.Family{
	domain.FamilyMobile: domain.FamilyWeb, domain.FamilyWeb: domain.FamilyMobile,
}

// actionFields holds the JSON names of the fields that each action type takes, by family and type.
var actionFields = newActionFields()

func newActionFields() map[domain.Family]map[string]map[string]bool {
	out := map[domain.Family]map[string]map[string]bool{}
	for family := range typeKeys {
		out[family] = map[string]map[string]bool{}
		for _, sample := range append(domain.Samples(family), domain.SpeechSamples(family)...) {
			var fields map[string]json.RawMessage
			if err := json.Unmarshal([]byte(sample.JSON()), &fields); err != nil {
				panic(err) // the JSON of an action is always an object
			}
			out[family][sample.Type] = map[string]bool{}
			for name := range fields {
				out[family][sample.Type][name] = true
			}
		}
	}

	return out
}

// ReadAction reads the JSON object of an action as Usual does, and returns the action and its repairs. If the object is
// not an action even after repairs, it returns the error of domain.ParseAction.
func ReadAction(raw []byte) (domain.Action, []Repair, error) {
	action, err := domain.ParseAction(raw)
	if err == nil {
		return action, nil, nil
	}
	fields := map[string]json.RawMessage{}
	if json.Unmarshal(raw, &fields) != nil {
		return action, nil, err
	}
	lower := map[string]json.RawMessage{} // encoding/json also reads keys in any case
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		lower[strings.ToLower(key)] = fields[key]
	}

	family := domain.FamilyMobile
	if lower[typeKeys[family]] == nil {
		family = domain.FamilyWeb
	}
	kind := lower[typeKeys[family]]
	delete(lower, typeKeys[family])
	if kind == nil || lower[typeKeys[otherFamily[family]]] != nil {
		return action, nil, err
	}

	for _, candidate := range []domain.Family{family, otherFamily[family]} {
		m := mender{family: candidate, fields: maps.Clone(lower)}
		if candidate != family {
			m.note(RepairFamily)
		}
		if mended, ok := m.mend(kind); ok {
			return mended, m.repairs, nil
		}
	}

	return action, nil, err
}

// mender repairs the fields of an action in one family.
type mender struct {
	family  domain.Family
	fields  map[string]json.RawMessage
	repairs []Repair
}

func (m *mender) note(what Repair) {
	if !slices.Contains(m.repairs, what) {
		m.repairs = append(m.repairs, what)
	}
}

func (m *mender) mend(kind json.RawMessage) (domain.Action, bool) {
	var name string
	if json.Unmarshal(kind, &name) != nil {
		return domain.Action{}, false
	}
	name = m.mendName(name, false)
	if s, ok := synonyms[m.family][name]; ok {
		m.note(RepairSynonym)
		name = s.Type
		if s.Field != "" && m.fields[s.Field] == nil {
			m.fields[s.Field] = quote(s.Value)
		}
	}

	for _, field := range slices.Sorted(maps.Keys(m.fields)) {
		m.mendField(name, field)
	}
	m.fields[typeKeys[m.family]] = quote(name)
	raw, err := json.Marshal(m.fields)
	if err != nil {
		return domain.Action{}, false
	}
	action, err := domain.ParseAction(raw)

	return action, err == nil
}

// mendName returns a name in lower case. Unless it is a field's value, underscores replace its blanks and hyphens.
func (m *mender) mendName(name string, value bool) string {
	usual := strings.ToLower(strings.TrimSpace(name))
	if !value {
		usual = strings.Join(strings.FieldsFunc(usual, func(c rune) bool {
			return c == ' ' || c == '-' || c == '_'
		}), "_")
	}
	if usual != name {
		m.note(RepairCase)
	}

	return usual
}

// mendField repairs a field to the form that the action type takes.
func (m *mender) mendField(kind, field string) {
	raw := m.fields[field]
	exists := false
	for _, types := range actionFields {
		for _, fields := range types {
			exists = exists || fields[field]
		}
	}
	if !exists || string(raw) == "null" {
		return
	}
	if !actionFields[m.family][kind][field] {
		if text := string(raw); text != `""` && text != "false" {
			m.note(RepairField)
		}
		delete(m.fields, field)

		return
	}

	switch field {
	case "index", "tab":
		m.mendNumber(field)
	case "press_enter", "new_tab":
		m.mendFlag(field)
	default:
		m.mendText(field)
	}
}

// wholeNumber matches a whole number of up to nine digits, also with a decimal point.
var wholeNumber = regexp.MustCompile(`^(-?[0-9]{1,9})(?:\.0*)?$`)

// WholeNumber parses a whole number that a model wrote, such as 3, 3.0 or "3".
func WholeNumber(raw json.RawMessage) (int, error) {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		text = string(raw)
	}
	parts := wholeNumber.FindStringSubmatch(strings.TrimSpace(text))
	if parts == nil {
		return 0, errors.New("not a whole number")
	}

	return strconv.Atoi(parts[1])
}

func (m *mender) mendNumber(field string) {
	number, err := WholeNumber(m.fields[field])
	if err != nil {
		return
	}
	if usual := strconv.Itoa(number); usual != string(m.fields[field]) {
		m.note(RepairNumber)
		m.fields[field] = json.RawMessage(usual)
	}
}

func (m *mender) mendFlag(field string) {
	usual := ""
	switch strings.ToLower(strings.Trim(string(m.fields[field]), `" `)) {
	case "true", "1", "yes":
		usual = "true"
	case "false", "0", "no":
		usual = "false"
	}
	if usual != "" && usual != string(m.fields[field]) {
		m.note(RepairFlag)
		m.fields[field] = json.RawMessage(usual)
	}
}

func (m *mender) mendText(field string) {
	raw := m.fields[field]
	var text string
	if json.Unmarshal(raw, &text) != nil {
		if c := raw[0]; c == '{' || c == '[' {
			return
		}
		m.note(RepairText)
		text = string(raw)
	}
	if field == "direction" || field == "goal_status" {
		text = m.mendName(text, true)
	}
	if usual, ok := valueSynonyms[field][text]; ok {
		m.note(RepairSynonym)
		text = usual
	}
	m.fields[field] = quote(text)
}

func quote(text string) json.RawMessage {
	raw, err := json.Marshal(text)
	if err != nil {
		panic(err) // encoding a string never fails
	}

	return raw
}
