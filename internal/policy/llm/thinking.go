package llm

import "strings"

// SplitThinking separates what a reasoning model wrote before its answer, all up to the last </think>, from the
// answer. A thought that does not end has no answer.
func SplitThinking(s string) (thought, answer string) {
	const open, end = "<think>", "</think>"
	if at := strings.LastIndex(s, end); at >= 0 {
		thought = strings.TrimPrefix(strings.TrimSpace(s[:at]), open)

		return strings.TrimSpace(thought), strings.TrimSpace(s[at+len(end):])
	}

	if rest, ok := strings.CutPrefix(strings.TrimSpace(s), open); ok {
		return strings.TrimSpace(rest), ""
	}

	return "", s
}
