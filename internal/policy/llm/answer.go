package llm

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	openai "github.com/sashabaranov/go-openai"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/chat"
)

// postChat sends a request and parses the server's answer. It does not use the client of go-openai, which refuses
// requests by the model's name and parses only one form of answers and errors. An error that the server returns is a
// refusal.
func (c *Client) postChat(ctx context.Context, q question) (completion, error) {
	ctx, cancel := context.WithTimeout(ctx, c.conf.Timeout)
	defer cancel()

	body, err := json.Marshal(q)
	if err != nil {
		return completion{}, fault.As(fault.Fatal, err)
	}

	got, readErr := c.send(ctx, http.MethodPost, c.url("/chat/completions"), body)
	if got.status == 0 {
		return completion{}, readErr
	}
	if got.failed() {
		return completion{}, c.refusalOf(got.status, got.header, got.body)
	}

	lasting := c.pages.note(got.body, c.now())
	out, err := decode(got.body)
	if err == nil {
		return out, nil
	}
	if readErr != nil {
		return completion{}, readErr
	}

	content := got.body
	var unread *unreadable
	if errors.As(err, &unread) && unread.errorValue != nil {
		content = unread.errorValue
	}

	refused := c.refusalOf(got.status, got.header, content)
	refused.words = c.words(err.Error() + ": " + refused.words)
	refused.lasting = lasting

	return completion{}, refused
}

// abortReasons holds the finish reasons of answers that a server gave up, although the status is a success: vLLM and
// SGLang abort what is in flight when they stop or fall asleep.
var abortReasons = map[string]bool{"abort": true, "error": true, "insufficient_system_resource": true}

// lengthReasons holds the finish reasons of answers that reached the maximum number of tokens.
var lengthReasons = map[string]bool{
	"length": true, "max_length": true, "model_length": true, "max_tokens": true, "max_output_tokens": true,
	"max_completion_tokens": true,
}

// checkChoices returns a transient fault if a server gave up one of the answers, or returned none.
func checkChoices(out completion, model string) error {
	if len(out.choices) == 0 {
		return fault.New(fault.Transient, "model %s returned no answer", model)
	}
	for _, ch := range out.choices {
		if abortReasons[ch.finish] {
			return fault.New(fault.Transient, "model %s gave up an answer: finish_reason %q", model, ch.finish)
		}
	}

	return nil
}

// checkRefusal returns a refused fault if the model refuses all answers, or calls a tool instead.
func (c *Client) checkRefusal(out completion, model string) error {
	refused := ""
	called := ""
	for _, ch := range out.choices {
		filtered := ch.finish == string(openai.FinishReasonContentFilter)
		if ch.content != "" || ch.refusal+ch.tool == "" && !filtered {
			return nil
		}
		refused = ch.finish + " " + ch.refusal
		called = ch.tool
	}
	if called != "" {
		return fault.New(fault.Refused, "model %s calls the tool %s instead of an answer, though no tool is offered: "+
			"choose another model, or switch its tools off at the server", model, c.words(called))
	}

	return fault.New(fault.Refused, "model %s refuses to answer: %s", model, c.words(refused))
}

// response returns the answers with their thoughts and the tokens used.
func (c *Client) response(out completion) chat.Response {
	res := chat.Response{Usage: domain.Usage{
		Prompt:  out.usage.prompt,
		Cached:  out.usage.cached,
		Answer:  out.usage.answer,
		Thought: out.usage.thought,
	}}

	reasoned := false
	scored := true
	for _, ch := range out.choices {
		thought, text := ch.split()
		reasoned = reasoned || thought != ""
		scored = scored && ch.hasLogProb
		res.Cut = res.Cut || lengthReasons[ch.finish]
		res.Texts = append(res.Texts, c.withoutKey(text))
		res.Reasoning = append(res.Reasoning, c.withoutKey(thought))
		res.LogProbs = append(res.LogProbs, ch.logProb)
	}

	if !reasoned {
		res.Reasoning = nil
	}
	if !scored {
		res.LogProbs = nil
	}

	return res
}

// imageTokens is the approximate number of tokens per image.
const imageTokens = 1000

// estimateUsage returns the tokens used. If the server reports none, they are estimated from the texts, so that they
// count towards budgets.
func (c *Client) estimateUsage(used domain.Usage, request chat.Request, res chat.Response) domain.Usage {
	if used.Prompt == 0 {
		size := len(request.System) + len(request.User)
		for _, turn := range request.More {
			size += len(turn.Text)
		}

		used.Prompt = tokens(size) + imageTokens*len(request.Images)
		used.Estimated = used.Prompt > 0
	}

	if used.Answer == 0 {
		for _, texts := range [][]string{res.Texts, res.Reasoning} {
			for _, text := range texts {
				used.Answer += tokens(len(text))
			}
		}
		used.Estimated = used.Estimated || used.Answer > 0
	}

	return used
}

// tokens returns the approximate number of tokens in a text of size bytes.
func tokens(size int) int { return (size + chat.CharsPerToken - 1) / chat.CharsPerToken }
