package llm

import (
	"strings"
	"unicode/utf8"
)

// tags are the marks around a thought that models write into their answers.
var tags = [...][2]string{
	{"<think>", "</think>"},
	{"<thinking>", "</thinking>"},
	{"<thought>", "</thought>"},
	{"[THINK]", "[/THINK]"},
}

// SplitThinking separates what a reasoning model wrote before its answer, all up to the first mark that ends a thought,
// from the answer. A thought that does not end has no answer. Some servers take away the mark that begins a thought;
// without it, a </think> that an answer quotes ends none.
func SplitThinking(s string) (thought, answer string) {
	trimmed := strings.TrimSpace(s)
	for _, tag := range tags {
		if rest, ok := strings.CutPrefix(trimmed, tag[0]); ok {
			thought, answer, _ = strings.Cut(rest, tag[1])

			return strings.TrimSpace(thought), strings.TrimSpace(answer)
		}
	}

	thought, answer, ok := strings.Cut(s, tags[0][1])
	if !ok || quoted(thought, answer) {
		return "", s
	}

	return strings.TrimSpace(thought), strings.TrimSpace(answer)
}

// quoted reports whether a mark between two texts is part of an answer: the text before begins as answers do, or the
// mark stands within a line as a word or in quotation marks.
func quoted(before, after string) bool {
	begin := strings.ToLower(strings.TrimSpace(before))
	for _, form := range []string{"reason:", "action:", "{", "[", "```"} {
		if strings.HasPrefix(begin, form) {
			return true
		}
	}
	if strings.Contains(begin, "\naction:") {
		return true
	}

	const marks = "\"'`(“„‘‚«»"
	start := before[strings.LastIndex(before, "\n")+1:]
	end, _, _ := strings.Cut(after, "\n")
	if strings.TrimSpace(start) == "" || strings.TrimSpace(end) == "" {
		return false
	}

	last, _ := utf8.DecodeLastRuneInString(start)

	return strings.ContainsRune(marks, last) || last == ' ' && strings.HasPrefix(end, " ")
}

// parted returns the thought and the answer of a choice. What the server has parted stays so, except that some servers
// leave the thought in the answer, too.
func (ch *choice) parted() (thought, answer string) {
	thought, answer = SplitThinking(ch.content)
	if ch.thought == "" {
		return thought, answer
	}

	trimmed := strings.TrimSpace(ch.content)
	for _, tag := range tags {
		if strings.HasPrefix(trimmed, tag[0]) {
			return ch.thought, answer
		}
	}

	return ch.thought, ch.content
}
