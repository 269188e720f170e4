package llm

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// completion holds the parts of a server's answer that are used: the choices and the tokens.
type completion struct {
	choices []*choice
	usage   usage
}

// choice is one answer.
type choice struct {
	content    string  // may begin with a thought
	thought    string  // the thought, if the server has separated it from the answer
	refusal    string  // the reason why the model refuses to answer
	tool       string  // the name of the tool that the model calls instead, although no tool is offered
	finish     string  // finish_reason, in lower case
	logProb    float64 // of the answer, summed over its tokens
	hasLogProb bool    // whether every token has a log-probability
}

// usage holds the numbers of tokens that a server reports. A number is 0 if it is not reported.
type usage struct{ prompt, cached, answer, thought int }

// unreadable is the error of a body that has a status of success and contains no answer.
type unreadable struct {
	reason     string
	errorValue json.RawMessage // the value that may be an error; nil if the body is not JSON
}

func (u *unreadable) Error() string { return u.reason }

// maxChoices bounds the choices of a completion.
const maxChoices = 4096

// decode parses a chat completion in any form in which servers send it: plain or as a stream of events, with unknown
// members, and with null for missing values. It uses only error, choices and usage. An error is an unreadable.
func decode(body []byte) (completion, error) {
	found := valuesOf(body)
	if found.broken || len(found.all) == 0 {
		return completion{}, &unreadable{reason: "the answer is not whole, or not JSON"}
	}

	var out completion
	streams := map[int]*choice{}
	for _, value := range found.all {
		var e event
		if !decodeObject(value, &e) { // a list, in which some servers wrap errors
			return completion{}, &unreadable{reason: "the answer has no choices", errorValue: value}
		}
		if !isEmpty(e.Error) && (len(e.Choices) == 0 || !isNoError(e.Error)) {
			return completion{}, &unreadable{reason: "the answer is an error", errorValue: value}
		}
		if len(e.Choices) == 0 && !found.streamed {
			return completion{}, &unreadable{reason: "the answer has no choices", errorValue: value}
		}
		if n, ok := usageOf(e.Usage); ok {
			out.usage = n
		}
		for _, one := range e.Choices {
			if one != nil && !isEmpty(one.Error) {
				return completion{}, &unreadable{reason: "an answer is an error", errorValue: value}
			}
			if err := out.add(one, streams); err != nil {
				return completion{}, err
			}
		}
	}

	for _, at := range slices.Sorted(maps.Keys(streams)) {
		out.choices = append(out.choices, streams[at])
	}

	return out, out.checkWhole(found)
}

// event is a completion, or a piece of one in a stream. Members whose form differs between servers are decoded later.
type event struct {
	Error   json.RawMessage
	Usage   json.RawMessage
	Choices []*eventChoice
}

type eventChoice struct {
	Error   json.RawMessage
	Index   json.RawMessage
	Message json.RawMessage // the answer
	Delta   json.RawMessage // a piece of the answer
	Finish  string          `json:"finish_reason"`

	LogProbs *struct {
		Content []token `json:"content"`
	} `json:"logprobs"`
}

type token struct {
	LogProb *float64 `json:"logprob"`
}

// decodeObject decodes a JSON object into a struct and reports whether it is an object. Members whose type differs from
// the struct's are left unchanged.
func decodeObject(raw json.RawMessage, to any) bool {
	var mismatch *json.UnmarshalTypeError
	err := json.Unmarshal(raw, to)

	return err == nil || errors.As(err, &mismatch) && mismatch.Field != ""
}

// checkWhole returns an error if a stream was cut: it has no end mark, and an answer has no finish reason.
func (c *completion) checkWhole(found values) error {
	if !found.streamed || found.ended {
		return nil
	}

	last := found.all[len(found.all)-1]
	if len(c.choices) == 0 {
		return &unreadable{reason: "the stream has no choices", errorValue: last}
	}
	for _, ch := range c.choices {
		if ch.finish == "" {
			return &unreadable{reason: "the stream was cut", errorValue: last}
		}
	}

	return nil
}

// add adds an answer, or a piece of a stream's answer by its index.
func (c *completion) add(one *eventChoice, streams map[int]*choice) error {
	if one == nil {
		return nil
	}
	if len(c.choices)+len(streams) >= maxChoices {
		return &unreadable{reason: "the answer has more than " + strconv.Itoa(maxChoices) + " choices"}
	}

	ch := &choice{}
	if isAbsent(one.Delta) || !isAbsent(one.Message) {
		c.choices = append(c.choices, ch)
		ch.read(one.Message)
	} else {
		at, _ := countOf(one.Index)
		if streams[at] == nil {
			streams[at] = ch
		}
		ch = streams[at]
		ch.read(one.Delta)
	}

	ch.finish = strings.ToLower(cmp.Or(one.Finish, ch.finish))
	if one.LogProbs != nil {
		ch.score(one.LogProbs.Content)
	}

	return nil
}

// read adds a message, or a piece of one.
func (ch *choice) read(raw json.RawMessage) {
	var message struct {
		Content, Refusal, Reasoning, Thinking json.RawMessage

		ReasoningContent json.RawMessage `json:"reasoning_content"`
		ReasoningDetails json.RawMessage `json:"reasoning_details"`
		ToolCalls        json.RawMessage `json:"tool_calls"`
		FunctionCall     json.RawMessage `json:"function_call"`
	}
	if isAbsent(raw) || !decodeObject(raw, &message) {
		return
	}

	content := textOf(message.Content, 0)
	refusal := textOf(message.Refusal, 0)
	thought := content.thought
	// Servers that send several of these send the same thought in each.
	for _, other := range []json.RawMessage{
		message.ReasoningContent, message.Reasoning, message.Thinking, message.ReasoningDetails,
	} {
		if thought == "" {
			part := textOf(other, 0)
			thought = part.thought + part.answer
		}
	}

	ch.content += content.answer
	ch.thought += thought
	ch.refusal += content.refused + refusal.answer
	ch.tool = cmp.Or(ch.tool, toolIn(message.ToolCalls), toolIn(message.FunctionCall))
}

// score adds the log-probabilities of tokens. If one token lacks one, so does the whole answer. An answer without
// tokens needs none.
func (ch *choice) score(tokens []token) {
	if tokens == nil && ch.content+ch.thought != "" {
		return
	}

	for _, one := range tokens {
		if one.LogProb == nil {
			ch.logProb = math.NaN()
		} else {
			ch.logProb += *one.LogProb
		}
	}

	ch.hasLogProb = !math.IsNaN(ch.logProb)
}

// usageOf returns the numbers of tokens that a server reports, under any of their common names. It returns false if
// none is reported.
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
	if isAbsent(raw) || json.Unmarshal(raw, &counted) != nil {
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

// firstCount returns the first of the numbers that is above 0, or 0.
func firstCount(all ...json.RawMessage) int {
	for _, raw := range all {
		if n, ok := countOf(raw); ok && n > 0 {
			return n
		}
	}

	return 0
}

// countOf parses a number of tokens or the index of a choice, which servers send as an integer, a float or a text. It
// returns false for any other value.
func countOf(raw json.RawMessage) (int, bool) {
	const most = 1 << 40
	count, err := strconv.ParseFloat(strings.Trim(string(raw), `"`), 64)
	if err != nil || !(count >= 0 && count < most) {
		return 0, false
	}

	return int(count), true
}
