package infer

import (
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/records/runs"
)

// Answer is a decision in the form of the OpenAI chat API.
type Answer struct {
	ID       string    `json:"id"`
	Object   string    `json:"object"`
	Created  int64     `json:"created"` // Unix seconds
	Model    string    `json:"model"`
	Choices  []choice  `json:"choices"`
	Usage    usage     `json:"usage"` // of all agents together
	Collabui Extension `json:"collabui"`
}

// Extension holds the members of an answer that OpenAI's answers do not have.
type Extension struct {
	Agents   []usageOf `json:"usage"`
	*Decided           // only if the request specifies matrix
}

type choice struct {
	Index        int           `json:"index"`
	Message      answerMessage `json:"message"`
	FinishReason string        `json:"finish_reason"`
}

type answerMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// usageOf is the usage of one agent.
type usageOf struct {
	Agent int `json:"agent"`
	usage
}

type usage struct {
	Prompt        int            `json:"prompt_tokens"`
	Completion    int            `json:"completion_tokens"`
	Total         int            `json:"total_tokens"`
	PromptDetails map[string]int `json:"prompt_tokens_details"`
	AnswerDetails map[string]int `json:"completion_tokens_details"`
}

func newUsage(u domain.Usage) usage {
	return usage{
		Prompt:        u.Prompt,
		Completion:    u.Answer,
		Total:         u.Prompt + u.Answer,
		PromptDetails: map[string]int{"cached_tokens": u.Cached},
		AnswerDetails: map[string]int{"reasoning_tokens": u.Thought},
	}
}

// NewAnswer returns a decision in the form of the OpenAI chat API. Its only choice is the text of a cell that won.
func (s TrainedSystem) NewAnswer(decided Decided, matrix bool) Answer {
	answer := Answer{
		ID:      "chatcmpl-" + runs.Digest(decided.Decision)[:24],
		Object:  "chat.completion",
		Created: time.Now().Unix(),
		Model:   s.Model(),
		Choices: []choice{{
			Message:      answerMessage{Role: "assistant", Content: decided.Text},
			FinishReason: "stop",
		}},
	}

	var sum domain.Usage
	for agent, u := range decided.Usage {
		answer.Collabui.Agents = append(answer.Collabui.Agents, usageOf{agent, newUsage(u)})
		sum = sum.Plus(u)
	}
	answer.Usage = newUsage(sum)
	if matrix {
		answer.Collabui.Decided = &decided
	}

	return answer
}
