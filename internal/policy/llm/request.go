package llm

import (
	"math"

	openai "github.com/sashabaranov/go-openai"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/chat"
)

// maxSeed keeps seeds exact in JSON numbers.
const maxSeed = 1<<53 - 1

// question is a request in the form in which it is sent.
type question struct {
	openai.ChatCompletionRequest

	// Temperature replaces go-openai's field, which never sends a 0, so that servers would use their own default. A
	// number close to 0 is no substitute: llama.cpp divides by it and samples from the overflow. If nil, no temperature
	// is sent.
	Temperature *float32 `json:"temperature,omitempty"`
}

// request returns a request in the form in which it is sent, without the parameters in left.
func (c *Client) request(r chat.Request, left omitted) question {
	q := question{ChatCompletionRequest: openai.ChatCompletionRequest{
		Model:          c.model(r),
		N:              max(r.N, 1),
		LogProbs:       c.conf.LogProbs && left["logprobs"] == "",
		Messages:       c.messages(r),
		ResponseFormat: c.format(r.Schema, left),
	}}

	if left["n"] != "" {
		q.N = 0
	}
	if left["temperature"] == "" {
		temperature := float32(r.Temperature)
		q.Temperature = &temperature
	}
	if left["top_p"] == "" {
		q.TopP = nonzero(r.TopP)
	}

	completion := c.conf.Tokens == TokensCompletion
	if completion && left[TokensCompletion] != "" || !completion && left[TokensMax] != "" {
		completion = !completion
	}
	if completion {
		q.MaxCompletionTokens = r.MaxTokens
	} else {
		q.MaxTokens = r.MaxTokens
	}

	if c.conf.Seeds && left["seed"] == "" {
		seed := int(r.Seed & maxSeed)
		q.Seed = &seed
	}

	return q
}

// messages returns the conversation of a request. Control tokens in it are broken, because only the server's chat
// template may write them.
func (c *Client) messages(request chat.Request) []openai.ChatCompletionMessage {
	var out []openai.ChatCompletionMessage
	if request.System != "" {
		out = append(out, openai.ChatCompletionMessage{
			Role: openai.ChatMessageRoleSystem, Content: domain.BreakTokens(request.System),
		})
	}

	user := openai.ChatCompletionMessage{
		Role: openai.ChatMessageRoleUser, Content: domain.BreakTokens(request.User),
	}
	if len(request.Images) > 0 {
		user.MultiContent = []openai.ChatMessagePart{{Type: openai.ChatMessagePartTypeText, Text: user.Content}}
		user.Content = ""
		for _, picture := range request.Images {
			user.MultiContent = append(user.MultiContent, openai.ChatMessagePart{
				Type:     openai.ChatMessagePartTypeImageURL,
				ImageURL: &openai.ChatMessageImageURL{URL: dataURL(picture)},
			})
		}
	}

	out = append(out, user)

	for _, turn := range request.More {
		role := openai.ChatMessageRoleUser
		if turn.Assistant {
			role = openai.ChatMessageRoleAssistant
		}

		out = append(out, openai.ChatCompletionMessage{Role: role, Content: domain.BreakTokens(turn.Text)})
	}

	return out
}

// format returns the response format that requests an answer that fits the schema: the configured one or, if the server
// refuses that, the next weaker one. If it is nil, only the prompt requests JSON.
func (c *Client) format(schema *chat.Schema, left omitted) *openai.ChatCompletionResponseFormat {
	if schema == nil {
		return nil
	}

	form := c.conf.Schema
	if form == SchemaJSON && left[SchemaJSON] != "" {
		form = SchemaObject
	}
	if form == SchemaObject && left[SchemaObject] != "" {
		form = SchemaNone
	}

	switch form {
	case SchemaJSON:
		return &openai.ChatCompletionResponseFormat{
			Type: openai.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{
				Name:   schema.Name,
				Schema: schema.JSON,
				Strict: schema.Strict,
			},
		}
	case SchemaObject:
		return &openai.ChatCompletionResponseFormat{Type: openai.ChatCompletionResponseFormatTypeJSONObject}
	}

	return nil
}

// nonzero replaces a zero by the smallest positive number, because go-openai omits zeros and servers would then use
// their own default. As top_p, that number keeps only the most probable token, and servers that refuse a 0 accept it.
func nonzero(x float64) float32 {
	if x == 0 {
		return math.SmallestNonzeroFloat32
	}

	return float32(x)
}
