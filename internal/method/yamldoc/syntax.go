package yamldoc

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

var (
	atLine        = regexp.MustCompile(`^line (\d+): `)
	unknownAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced`)
)

// syntax returns the library's error with its place. The library gives no columns, no line for an alias without an
// anchor, and for some errors the previous line or the first line of the surrounding block.
func syntax(name string, raw []byte, err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if parts := unknownAnchor.FindStringSubmatch(text); parts != nil {
		alias := regexp.MustCompile(`\*` + regexp.QuoteMeta(parts[1]) + `(?:[\s,\]}]|$)`)
		if found := alias.FindIndex(raw); found != nil {
			name = place(name, raw[:found[0]])
		}

		return invalid(name, "the alias %s has no anchor", parts[1])
	}
	line := "1"
	if matches := atLine.FindStringSubmatch(text); matches != nil {
		line = matches[1]
		text = text[len(matches[0]):]
	}
	if at, found := brokenAt(raw, line); found {
		name = place(name, raw[:at])
	} else if name != "" {
		name += ":" + line
	}

	return invalid(name, "%s", text)
}

// Bounds on the search for the place of an error, in bytes: on the text, on a line, and on the total that is parsed.
const (
	maxSearched = 64 << 10
	maxLine     = 1 << 10
	maxParsed   = 1 << 19
)

// brokenAt returns the offset at which a text stops being YAML: no longer prefix of it can be parsed. The search begins
// at a line whose preceding text can be parsed. It gives up if the text or one of its lines is too long.
func brokenAt(raw []byte, line string) (at int, found bool) {
	if len(raw) > maxSearched {
		return 0, false
	}
	first, _ := strconv.Atoi(line)
	left := maxParsed
	parses := func(end int) bool {
		left -= end

		return left >= 0 && isYAML(raw[:end])
	}

	good := 0
	number := 1
	for end := range raw {
		if raw[end] != '\n' {
			continue
		}
		if number >= first-1 && parses(end+1) {
			good = end + 1
		}
		number++
	}
	last := bytes.IndexByte(raw[good:], '\n')
	if last < 0 {
		last = len(raw) - good
	}
	if last > maxLine {
		return 0, false
	}
	at = good
	for end := range string(raw[good : good+last]) {
		if parses(good + end) {
			at = good + end
		}
	}

	return at, left >= 0
}

// isYAML reports whether a text can be parsed.
func isYAML(text []byte) bool {
	in := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var doc yaml.Node
		if err := in.Decode(&doc); err != nil {
			return errors.Is(err, io.EOF)
		}
	}
}
