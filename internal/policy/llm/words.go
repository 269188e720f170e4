package llm

import (
	"regexp"
	"strings"
	"unicode"
)

// bareKey and labelledKey match keys, by their form or by the words before them, because servers quote the key of a
// request, in whole or in part.
var (
	bareKey = regexp.MustCompile(`(?i)\b(?:sk|pk|rk|gsk|xai|hf|nvapi|r8|pplx|tgp|csk|fw)[-_][\w*.-]{4,}` +
		`|\bAIza[\w*-]{8,}|\bAKIA\w{8,}|\beyJ[\w-]{8,}(?:\.[\w-]+)*`)
	labelledKey = regexp.MustCompile(`(?i)\b((?:bearer|basic)\s+` +
		`|(?:api[-_ ]?key|token|secret|password|authorization)(?:\s+provided)?["']?\s*[:=]\s*["']?` +
		`(?:(?:bearer|basic)\s+)?)[^\s"'&,;<>{}]+`)
)

// words returns the beginning of a server's message, on one line and without keys.
func (c *Client) words(text string) string {
	text = c.hide(oneLine(text[:min(len(text), maxRefusal)]))
	text = labelledKey.ReplaceAllString(text, "${1}"+removed)

	return beginning(bareKey.ReplaceAllString(text, removed), maxReason)
}

// brief returns the beginning of a text, on one line.
func brief(text string) string { return beginning(oneLine(text), maxReason) }

// oneLine returns a text on one line, without characters that cannot be printed.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}

		return ' '
	}, text)

	return strings.Join(strings.Fields(text), " ")
}
