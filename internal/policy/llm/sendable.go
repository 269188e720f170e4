package llm

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/collabui/collabui/fault"
)

// unsendable is the error of a key or a header's value that no request can carry. It does not show the value.
type unsendable struct {
	base   string
	header string // empty for the key
	what   string // what the value must not contain
}

func (u *unsendable) Error() string {
	if u.header != "" {
		return fmt.Sprintf("the header %s for %s holds %s: no request can carry it; the value must be one line of "+
			"plain text (correct the variable that it names, or the file that this variable with _FILE names)",
			u.header, u.base, u.what)
	}

	return fmt.Sprintf("the key for %s holds %s: no request can carry it; a key is one line of plain text "+
		"(correct the variable that `key` names, for policies COLLABUI_POLICY_KEY, or the file that this variable "+
		"with _FILE names)", u.base, u.what)
}

// Header returns the name of the header with the value, or "" for the key.
func (u *unsendable) Header() string { return u.header }

// checkSendable returns an invalid fault if no request can carry the key or a header of an endpoint.
func checkSendable(base, key string, headers map[string]string) error {
	wrong := &unsendable{base: redactURL(base), what: unsendablePart(key)}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		if wrong.what == "" {
			wrong.header = name
			wrong.what = unsendablePart(headers[name])
		}
	}
	if wrong.what == "" {
		return nil
	}

	return fault.As(fault.Invalid, wrong)
}

// unsendablePart names the first character of a value that no header can carry or with which no secret begins. It
// returns "" if the value has no such character.
func unsendablePart(value string) string {
	if strings.HasPrefix(value, "\ufeff") {
		return "a byte order mark"
	}
	at := strings.IndexFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == '\x7f' })
	switch {
	case at < 0:
		return ""
	case value[at] == '\n', value[at] == '\r':
		return "a line break"
	case value[at] == 0:
		return "a NUL byte, as text in UTF-16 does"
	}

	return fmt.Sprintf("the control character %#02x", value[at])
}
