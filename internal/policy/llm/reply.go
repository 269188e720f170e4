package llm

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// completion is what counts of a server's answer: the choices and the tokens used.
type completion struct {
	choices []*choice
	usage   usage
}

// choice is one answer.
type choice struct {
	content string  // may begin with a thought
	thought string  // what the server itself parted from the answer
	refused string  // why the model does not answer
	finish  string  // why the answer ends
	logProb float64 // of the answer, summed over its tokens
	scored  bool    // every token has a log-probability
}

// usage is the number of tokens that a server reports; 0 where it reports none.
type usage struct{ prompt, cached, answer, thought int }

// unreadable is a body with a status of success that holds no answer. It wraps what the server complains about if the
// body is a complaint.
type unreadable struct {
	why       string
	complains json.RawMessage // an error, or the whole value; nil if the body is not JSON
}

func (u *unreadable) Error() string { return u.why }

// maxChoices bounds the choices of a completion.
const maxChoices = 4096

// decode reads a chat completion as it comes: plain or as a stream of events, with members that nobody knows, and with
// null where nothing is. Members other than error, choices and usage do not count. The error is nil or an unreadable.
func decode(body []byte) (completion, error) {
	found := valuesOf(body)
	if found.broken || len(found.all) == 0 {
		return completion{}, &unreadable{why: "the answer is not whole, or not JSON"}
	}

	var out completion
	streams := map[int]*choice{}
	for _, value := range found.all {
		var event struct{ Error, Choices, Usage json.RawMessage }
		if json.Unmarshal(value, &event) != nil { // a list, in which some servers wrap errors
			return completion{}, &unreadable{why: "the answer has no choices", complains: value}
		}
		if !empty(event.Error) {
			return completion{}, &unreadable{why: "the answer is an error", complains: value}
		}
		if empty(event.Choices) && !found.streamed {
			return completion{}, &unreadable{why: "the answer has no choices", complains: value}
		}
		if n, ok := usageOf(event.Usage); ok {
			out.usage = n
		}
		for _, raw := range listOf(event.Choices) {
			if err := out.add(raw, streams); err != nil {
				return completion{}, err
			}
		}
	}

	for _, at := range slices.Sorted(maps.Keys(streams)) {
		out.choices = append(out.choices, streams[at])
	}

	return out, out.whole(found)
}

// whole returns an error if a stream was cut: no mark ends it, and an answer has no end of its own.
func (c *completion) whole(found values) error {
	if !found.streamed || found.ended {
		return nil
	}

	last := found.all[len(found.all)-1]
	if len(c.choices) == 0 {
		return &unreadable{why: "the stream has no choices", complains: last}
	}
	for _, ch := range c.choices {
		if ch.finish == "" {
			return &unreadable{why: "the stream was cut", complains: last}
		}
	}

	return nil
}

// add adds an entry of a list of choices: an answer, or a piece of one of the streams by their indexes.
func (c *completion) add(raw json.RawMessage, streams map[int]*choice) error {
	var entry struct {
		Error, Index, Message, Delta json.RawMessage

		Finish   json.RawMessage `json:"finish_reason"`
		LogProbs json.RawMessage `json:"logprobs"`
	}
	if absent(raw) || json.Unmarshal(raw, &entry) != nil {
		return nil
	}
	if !empty(entry.Error) {
		return &unreadable{why: "an answer is an error", complains: raw}
	}
	if len(c.choices)+len(streams) >= maxChoices {
		return &unreadable{why: "the answer has more than " + strconv.Itoa(maxChoices) + " choices"}
	}

	ch := &choice{}
	if absent(entry.Delta) || !absent(entry.Message) {
		c.choices = append(c.choices, ch)
		ch.read(entry.Message)
	} else {
		at, _ := countOf(entry.Index)
		if streams[at] == nil {
			streams[at] = ch
		}
		ch = streams[at]
		ch.read(entry.Delta)
	}

	var finish string
	if json.Unmarshal(entry.Finish, &finish) == nil {
		ch.finish = cmp.Or(finish, ch.finish)
	}
	ch.score(entry.LogProbs)

	return nil
}

// read adds a message, or a piece of one.
func (ch *choice) read(raw json.RawMessage) {
	var message struct {
		Content, Refusal, Reasoning, Thinking json.RawMessage

		ReasoningContent json.RawMessage `json:"reasoning_content"`
		ReasoningDetails json.RawMessage `json:"reasoning_details"`
	}
	if absent(raw) || json.Unmarshal(raw, &message) != nil {
		return
	}

	said := textOf(message.Content, 0)
	refusal := textOf(message.Refusal, 0)
	thought := said.thought
	// Servers that give several of these give the same thought in each.
	for _, other := range []json.RawMessage{
		message.ReasoningContent, message.Reasoning, message.Thinking, message.ReasoningDetails,
	} {
		if thought == "" {
			part := textOf(other, 0)
			thought = part.thought + part.answer
		}
	}

	ch.content += said.answer
	ch.thought += thought
	ch.refused += said.refused + refusal.answer
}

// score adds the log-probabilities of tokens. Tokens without one leave the whole answer without.
func (ch *choice) score(raw json.RawMessage) {
	var probabilities struct {
		Content []struct {
			LogProb *float64 `json:"logprob"`
		} `json:"content"`
	}
	if absent(raw) || json.Unmarshal(raw, &probabilities) != nil {
		return
	}
	if probabilities.Content == nil && ch.content+ch.thought != "" {
		return // an answer without tokens has none
	}

	for _, token := range probabilities.Content {
		if token.LogProb == nil {
			ch.logProb = math.NaN()
		} else {
			ch.logProb += *token.LogProb
		}
	}

	ch.scored = !math.IsNaN(ch.logProb)
}

// listOf returns the entries of a list. One value that is no list is its only entry.
func listOf(raw json.RawMessage) []json.RawMessage {
	var list []json.RawMessage
	if absent(raw) {
		return nil
	}
	if json.Unmarshal(raw, &list) != nil {
		return []json.RawMessage{raw}
	}

	return list
}

// usageOf returns the tokens that a server counted, by the names that servers have for them. It reports false if it
// counted none.
func usageOf(raw json.RawMessage) (usage, bool) {
	type details struct {
		Cached  json.RawMessage `json:"cached_tokens"`
		Thought json.RawMessage `json:"reasoning_tokens"`
	}
	var counted struct {
		Prompt  json.RawMessage `json:"prompt_tokens"`
		Input   json.RawMessage `json:"input_tokens"`
		Answer  json.RawMessage `json:"completion_tokens"`
		Output  json.RawMessage `json:"output_tokens"`
		Hit     json.RawMessage `json:"prompt_cache_hit_tokens"`
		OfInput json.RawMessage `json:"prompt_tokens_details"`
		OfText  json.RawMessage `json:"completion_tokens_details"`
	}
	if absent(raw) || json.Unmarshal(raw, &counted) != nil {
		return usage{}, false
	}

	var input, text details
	_ = json.Unmarshal(counted.OfInput, &input) // details of another form count nothing
	_ = json.Unmarshal(counted.OfText, &text)
	out := usage{
		prompt:  firstCount(counted.Prompt, counted.Input),
		cached:  firstCount(input.Cached, counted.Hit),
		answer:  firstCount(counted.Answer, counted.Output),
		thought: firstCount(text.Thought),
	}

	return out, out.prompt+out.answer > 0
}

// firstCount returns the first of the numbers that counts something, or 0.
func firstCount(all ...json.RawMessage) int {
	for _, raw := range all {
		if n, ok := countOf(raw); ok && n > 0 {
			return n
		}
	}

	return 0
}

// countOf returns a number of tokens or of a choice, which may be a float or a text. It reports false for what can be
// none.
func countOf(raw json.RawMessage) (int, bool) {
	const most = 1 << 40
	n, err := strconv.ParseFloat(strings.Trim(string(raw), `"`), 64)
	if err != nil || !(n >= 0 && n < most) {
		return 0, false
	}

	return int(n), true
}
