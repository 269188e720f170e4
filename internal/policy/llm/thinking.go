package llm

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// tag matches the marks around a thought that models write into their answers.
type tag struct{ begin, end *regexp.Regexp }

// tags lists the marks of thoughts. Models differ in their case.
var tags = tagsOf("think", "thinking", "thoughts?", "reasoning", "seed:think")

func tagsOf(names ...string) []tag {
	out := []tag{
		{regexp.MustCompile(`(?i)^\[THINK\]`), regexp.MustCompile(`(?i)\[/THINK\]`)},
		{regexp.MustCompile(`^◁think▷`), regexp.MustCompile(`◁/think▷`)},
		{regexp.MustCompile(`^<\|begin_of_thought\|>`), regexp.MustCompile(`<\|end_of_thought\|>`)},
	}
	for _, name := range names {
		out = append(out, tag{regexp.MustCompile(`(?i)^<` + name + `>`), regexp.MustCompile(`(?i)</` + name + `>`)})
	}

	return out
}

// endOfThink matches the mark that ends a thought whose beginning the server has removed.
var endOfThink = regexp.MustCompile(`(?i)</think>`)

// Channels are the format of gpt-oss: every message names its channel, and only the channel named final is the answer.
// Some servers remove the marks and leave their words.
var (
	channelMark = regexp.MustCompile(`^(?:<\|start\|>)?(?:assistant)?<\|channel\|>` +
		`|<\|start\|>assistant<\|channel\|>final\b`)
	finalMark    = regexp.MustCompile(`<\|channel\|>\s*final\b[^<]*(?:<\|constrain\|>[^<]*)?<\|message\|>`)
	channelEnd   = regexp.MustCompile(`<\|(?:return|end|call)\|>`)
	bareChannels = regexp.MustCompile(`(?s)^analysis(.*?)assistantfinal(.*)$`)
	channelMarks = regexp.MustCompile(`<\|(?:start|end)\|>(?:assistant)?|<\|channel\|>\w*|<\|message\|>`)
)

// SplitThinking separates what a reasoning model wrote before its answer, up to the first mark that ends a thought,
// from the answer. If a thought does not end, the answer is empty. Some servers remove the mark that begins a thought.
// Without that mark, a </think> that an answer quotes does not end a thought.
func SplitThinking(text string) (thought, answer string) {
	if thought, answer, ok := splitOpened(text); ok {
		return thought, answer
	}

	end := endOfThink.FindStringIndex(text)
	if end == nil || isQuoted(text[:end[0]], text[end[1]:]) {
		return "", text
	}

	return strings.TrimSpace(text[:end[0]]), strings.TrimSpace(text[end[1]:])
}

// splitOpened separates the thoughts with which a text begins. It returns false if the text does not begin with their
// mark.
func splitOpened(text string) (thought, answer string, ok bool) {
	answer = strings.TrimSpace(text)
	if thought, answer, ok = splitChannels(answer); ok {
		return thought, answer, true
	}

	var thoughts []string
	for at := 0; at < len(tags); {
		begin := tags[at].begin.FindStringIndex(answer)
		if begin == nil {
			at++

			continue
		}
		one := answer[begin[1]:]
		answer = ""
		if end := tags[at].end.FindStringIndex(one); end != nil {
			answer = strings.TrimSpace(one[end[1]:])
			one = one[:end[0]]
		}
		thoughts = append(thoughts, strings.TrimSpace(one))
		at = 0
	}

	return strings.TrimSpace(strings.Join(thoughts, "\n")), answer, len(thoughts) > 0
}

// splitChannels separates the channels of a text. Without a channel named final, the whole text is the thought. If the
// text has no channels, it returns the text as the answer, and false.
func splitChannels(text string) (thought, answer string, ok bool) {
	if words := bareChannels.FindStringSubmatch(text); words != nil {
		return strings.TrimSpace(words[1]), strings.TrimSpace(words[2]), true
	}
	if !channelMark.MatchString(text) {
		return "", text, false
	}

	thought = text
	if places := finalMark.FindAllStringIndex(text, -1); len(places) > 0 {
		last := places[len(places)-1]
		thought = text[:last[0]]
		answer = text[last[1]:]
	}
	if end := channelEnd.FindStringIndex(answer); end != nil {
		answer = answer[:end[0]]
	}

	return strings.TrimSpace(channelMarks.ReplaceAllString(thought, "")), strings.TrimSpace(answer), true
}

// isQuoted reports whether a mark between two texts is part of an answer: the text before it begins as answers do, or
// the mark stands within a line as a word or in quotation marks.
func isQuoted(before, after string) bool {
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

// split returns the thought and the answer of a choice. If the server has separated them, its thought is kept, but
// some servers also leave the thought in the answer.
func (ch *choice) split() (thought, answer string) {
	if ch.thought == "" {
		return SplitThinking(ch.content)
	}
	if _, answer, ok := splitOpened(ch.content); ok {
		return ch.thought, answer
	}

	return ch.thought, ch.content
}
