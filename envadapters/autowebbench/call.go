package autowebbench

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/collabui/collabui/domain"
)

// A command is a Python call such as type_string('A', 'text', False). It is read, never evaluated: strings, numbers, True, False and None are all that a command holds.

// params are the parameters of each command, in order.
var params = map[string][]string{
	domain.ActionClick: {"element"}, domain.ActionHover: {"element"}, domain.ActionSelect: {"element", "option"}, domain.ActionTypeString: {"element", "text", "press_enter"},
	domain.ActionScrollPage: {"direction"}, domain.ActionGo: {"direction"}, domain.ActionJumpTo: {"url", "new_tab"}, domain.ActionSwitchTab: {"tab"},
	domain.ActionUserInput: {"message"}, domain.ActionFinish: {"answer"},
}

// keywords are the published names of the parameters, where they differ.
var keywords = map[string]string{"element_id": "element", "content": "text", "tab_index": "tab"}

// parseCall reads a command at the start of s and gives what stands behind it. Strings may hold raw line breaks.
func parseCall(s string) (a domain.Action, rest string, err error) {
	open := strings.IndexByte(s, '(')
	if open < 0 {
		return a, "", fmt.Errorf("expected a command such as click('A'), not %.40q", s)
	}
	name := strings.TrimSpace(s[:open])
	names, ok := params[name]
	if !ok {
		return a, "", fmt.Errorf("unknown command %.40q", name)
	}
	a = domain.Action{Family: domain.FamilyWeb, Type: name}
	p := parser{s: s, at: open + 1}
	for i := 0; ; i++ {
		p.space()
		if p.take(')') {
			return a, s[p.at:], a.Validate()
		}
		if i > 0 && !p.take(',') {
			return a, "", fmt.Errorf("expected a comma or a bracket at %.40q", p.rest())
		}
		p.space()
		if p.take(')') { // a comma may end the list
			return a, s[p.at:], a.Validate()
		}
		if i >= len(names) {
			return a, "", fmt.Errorf("%s takes %d arguments", name, len(names))
		}
		key := p.keyword()
		if key == "" {
			key = names[i]
		} else if k, ok := keywords[key]; ok {
			key = k
		}
		v, err := p.value()
		if err == nil {
			err = set(&a, key, v)
		}
		if err != nil {
			return a, "", fmt.Errorf("%s, argument %d: %w", name, i+1, err)
		}
	}
}

// set puts a value into an action's field.
func set(a *domain.Action, field string, v any) error {
	text, isText := v.(string)
	flag, isFlag := v.(bool)
	n, isNumber := v.(int)
	fields := map[string]*string{"element": &a.Element, "option": &a.Option, "text": &a.Text, "direction": &a.Direction, "url": &a.URL, "message": &a.Message, "answer": &a.Answer}
	flags := map[string]*bool{"press_enter": &a.PressEnter, "new_tab": &a.NewTab}
	switch {
	case v == nil:
	case fields[field] != nil && isText:
		*fields[field] = text
	case flags[field] != nil && isFlag:
		*flags[field] = flag
	case field == "tab" && isNumber:
		a.Tab = n
	default:
		return fmt.Errorf("%s cannot be %v", field, v)
	}
	return nil
}

type parser struct {
	s  string
	at int
}

func (p *parser) rest() string { return p.s[p.at:] }

func (p *parser) space() {
	for p.at < len(p.s) && strings.IndexByte(" \t\r\n", p.s[p.at]) >= 0 {
		p.at++
	}
}

func (p *parser) take(c byte) bool {
	if p.at < len(p.s) && p.s[p.at] == c {
		p.at++
		return true
	}
	return false
}

// keyword reads "name=".
func (p *parser) keyword() string {
	end := p.at
	for end < len(p.s) && (p.s[end] == '_' || p.s[end] >= 'a' && p.s[end] <= 'z') {
		end++
	}
	if end == p.at || end == len(p.s) || p.s[end] != '=' {
		return ""
	}
	name := p.s[p.at:end]
	p.at = end + 1
	return name
}

// value reads a string, a whole number, True, False or None.
func (p *parser) value() (any, error) {
	for word, v := range map[string]any{"True": true, "False": false, "None": nil} {
		if strings.HasPrefix(p.rest(), word) {
			p.at += len(word)
			return v, nil
		}
	}
	if p.at < len(p.s) && (p.s[p.at] == '\'' || p.s[p.at] == '"') {
		return p.quoted()
	}
	end := p.at
	for end < len(p.s) && (p.s[end] == '-' || p.s[end] >= '0' && p.s[end] <= '9') {
		end++
	}
	n, err := strconv.Atoi(p.s[p.at:end])
	if err != nil {
		return nil, fmt.Errorf("expected a string, a number, True, False or None at %.40q", p.rest())
	}
	p.at = end
	return n, nil
}

// quoted reads a string. A quotation mark within it need not be escaped where no comma or bracket follows: people's files have such.
func (p *parser) quoted() (string, error) {
	quote := p.s[p.at]
	p.at++
	var b strings.Builder
	for ; p.at < len(p.s); p.at++ {
		c := p.s[p.at]
		switch {
		case c == '\\' && p.at+1 < len(p.s):
			p.at++
			b.WriteString(unescape(p.s[p.at]))
		case c == quote && p.closes():
			p.at++
			return b.String(), nil
		default:
			b.WriteByte(c)
		}
	}
	return "", fmt.Errorf("a string does not end")
}

func unescape(c byte) string {
	switch c {
	case 'n':
		return "\n"
	case 't':
		return "\t"
	case 'r':
		return "\r"
	case '\\', '\'', '"':
		return string(c)
	}
	return "\\" + string(c)
}

// closes tells whether the quotation mark at the present place ends its string.
func (p *parser) closes() bool {
	after := parser{p.s, p.at + 1}
	after.space()
	return after.at == len(p.s) || after.take(',') || after.take(')')
}

// callText writes a command as people read it.
func callText(a domain.Action) string {
	var args []string
	for _, name := range params[a.Type] {
		switch name {
		case "press_enter":
			args = append(args, strconv.FormatBool(a.PressEnter))
		case "new_tab":
			args = append(args, strconv.FormatBool(a.NewTab))
		case "tab":
			args = append(args, strconv.Itoa(a.Tab))
		default:
			v := map[string]string{"element": a.Element, "option": a.Option, "text": a.Text, "direction": a.Direction, "url": a.URL, "message": a.Message, "answer": a.Answer}[name]
			if v != "" {
				args = append(args, strconv.Quote(v))
			}
		}
	}
	return a.Type + "(" + strings.Join(args, ", ") + ")"
}
