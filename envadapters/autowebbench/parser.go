package autowebbench

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/collabui/collabui/domain"
)

// parser reads the arguments of a command.
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

// separator reads the text before an argument: nothing before the first one, and a comma before the others. It reports
// whether the list ends here instead, which it may also do after a comma.
func (p *parser) separator(first bool) (closed bool, err error) {
	p.space()
	if p.take(')') {
		return true, nil
	}
	if !first && !p.take(',') {
		return false, fmt.Errorf("expected a comma or a bracket at %.40q", p.rest())
	}
	p.space()

	return p.take(')'), nil
}

// argument reads an argument into the field of its parameter: the one that its keyword names or, without a keyword,
// param.
func (p *parser) argument(action *domain.Action, param string) error {
	if key := p.keyword(); key != "" {
		param = key
		if ours, ok := keywords[key]; ok {
			param = ours
		}
	}

	value, err := p.value()
	if err != nil {
		return err
	}

	return set(action, param, value)
}

// keyword reads "name=". It returns "" if the argument has no name.
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

// quoted reads a string. A quotation mark inside the string needs a backslash only before a comma or a bracket, because
// the published files contain such strings.
func (p *parser) quoted() (string, error) {
	quote := p.s[p.at]
	p.at++

	var builder strings.Builder
	for ; p.at < len(p.s); p.at++ {
		c := p.s[p.at]
		switch {
		case c == '\\' && p.at+1 < len(p.s):
			p.at++
			builder.WriteString(unescape(p.s[p.at]))
		case c == quote && p.closes():
			p.at++
			return builder.String(), nil
		default:
			builder.WriteByte(c)
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

// closes reports whether the current quotation mark ends its string.
func (p *parser) closes() bool {
	after := parser{p.s, p.at + 1}
	after.space()

	return after.at == len(p.s) || after.take(',') || after.take(')')
}
