package llm

import (
	"encoding/base64"
	"math"

	openai "github.com/sashabaranov/go-openai"

	"github.com/collabui/collabui/internal/method/chat"
)

// maxSeed keeps seeds exact in JSON numbers.
const maxSeed = 1<<53 - 1

// request returns the form of a request that goes on the wire.
func (c *Client) request(r chat.Request) openai.ChatCompletionRequest {
	q := openai.ChatCompletionRequest{
		Model:          c.conf.Model,
		N:              max(r.N, 1),
		Temperature:    nonzero(r.Temperature),
		TopP:           nonzero(r.TopP),
		MaxTokens:      r.MaxTokens,
		LogProbs:       c.conf.LogProbs,
		Messages:       c.messages(r),
		ResponseFormat: c.format(r.Schema),
	}

	if q.Model == "" {
		q.Model = r.Model
	}

	if c.conf.Seeds {
		seed := int(r.Seed & maxSeed)
		q.Seed = &seed
	}

	return q
}

// messages returns the conversation of a request.
func (c *Client) messages(r chat.Request) []openai.ChatCompletionMessage {
	var out []openai.ChatCompletionMessage
	if r.System != "" {
		out = append(out, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleSystem, Content: r.System})
	}

	user := openai.ChatCompletionMessage{Role: openai.ChatMessageRoleUser, Content: r.User}
	if c.conf.Images && len(r.Images) > 0 {
		user.Content = ""
		user.MultiContent = []openai.ChatMessagePart{{Type: openai.ChatMessagePartTypeText, Text: r.User}}
		for _, png := range r.Images {
			user.MultiContent = append(user.MultiContent, openai.ChatMessagePart{
				Type: openai.ChatMessagePartTypeImageURL,
				ImageURL: &openai.ChatMessageImageURL{
					URL: "data:image/png;base64," + base64.StdEncoding.EncodeToString(png),
				},
			})
		}
	}

	out = append(out, user)

	for _, t := range r.More {
		role := openai.ChatMessageRoleUser
		if t.Assistant {
			role = openai.ChatMessageRoleAssistant
		}

		out = append(out, openai.ChatCompletionMessage{Role: role, Content: t.Text})
	}

	return out
}

// format returns how the endpoint is asked for an answer that fits a schema; nil means by the prompt only.
func (c *Client) format(s *chat.Schema) *openai.ChatCompletionResponseFormat {
	if s == nil {
		return nil
	}

	switch c.conf.Schema {
	case SchemaJSON:
		return &openai.ChatCompletionResponseFormat{
			Type: openai.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{
				Name:   s.Name,
				Schema: s.JSON,
				Strict: s.Strict,
			},
		}
	case SchemaObject:
		return &openai.ChatCompletionResponseFormat{Type: openai.ChatCompletionResponseFormatTypeJSONObject}
	}

	return nil
}

// nonzero keeps a zero on the wire: go-openai leaves out zero values, and servers then take their own default. The
// smallest float is greedy, or nearly: vLLM raises it to 0.01, so the gateway sends it a 0.
func nonzero(x float64) float32 {
	if x == 0 {
		return math.SmallestNonzeroFloat32
	}

	return float32(x)
}
