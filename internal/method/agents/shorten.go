package agents

import (
	"strings"
	"unicode/utf8"
)

// ShortenAnswer shortens an agent's answer, or the bare JSON of an action, to one line of at most limit characters plus
// an ellipsis. It keeps the action and cuts the reason. An action that is too long by itself keeps its type and its
// element: its longest text is cut and ends with an ellipsis, and the JSON stays valid. Text without an action is cut
// as Line does.
func ShortenAnswer(text string, limit int) string {
	text = Line(text, len(text))
	parsed := Usual.read(text)
	raw := parsed.object
	if strings.HasPrefix(text, "{") {
		raw, _ = firstObject(text)
	}
	if utf8.RuneCountInString(text) <= limit || raw == "" {
		return Line(text, limit)
	}

	if strings.HasPrefix(text, "{") {
		return shortenAction(raw, limit)
	}
	action := mark + " " + shortenAction(raw, limit-len(mark)-1)
	if room := limit - utf8.RuneCountInString(action) - 1; room > 0 && parsed.before != "" {
		action = Line(parsed.before, room) + " " + action
	}

	return action
}

// shortenAction cuts the longest texts of an action until its JSON has at most limit characters. If that is impossible,
// it cuts the JSON itself.
func shortenAction(raw string, limit int) string {
	action, _, err := ReadAction([]byte(raw))
	for err == nil && utf8.RuneCountInString(raw) > limit {
		longest := &action.Text
		for _, x := range []*string{&action.Answer, &action.Message, &action.URL, &action.Option, &action.AppName} {
			if len(*x) > len(*longest) {
				longest = x
			}
		}
		words := []rune(strings.TrimSuffix(*longest, "…"))
		if len(words) == 0 {
			break
		}
		over := utf8.RuneCountInString(raw) - limit
		*longest = string(words[:max(0, len(words)-over-1)]) + "…"
		raw = action.JSON()
	}

	return Line(raw, limit)
}
