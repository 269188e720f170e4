package llm

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/collabui/collabui/fault"
)

// window is an entry of a list of models, with the maximum number of tokens in a prompt and its answer.
type window struct {
	ID      string `json:"id"`
	Max     int    `json:"max_model_len"`  // vLLM, SGLang and the gateway
	Context int    `json:"context_length"` // other servers
	Meta    struct {
		Context int `json:"n_ctx"` // llama.cpp
	} `json:"meta"`
}

// size returns the number of tokens, or 0 if it is not reported.
func (w window) size() int { return max(w.Max, w.Context, w.Meta.Context) }

// Window returns the maximum number of tokens in a prompt and its answer together, from the server's list of models:
// the entry of the model or, if the list lacks the model, the value of the whole list. The only model of a list applies
// to all names, because some servers have one model and ignore its name. It returns 0 if the server does not report the
// number. The call may be repeated.
func (c *Client) Window(ctx context.Context, model string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, c.conf.Timeout)
	defer cancel()

	got, err := c.send(ctx, http.MethodGet, c.url("/models"), nil)
	if err != nil {
		return 0, fault.New(fault.Transient, "list the models of %s: %w", redactURL(c.conf.BaseURL), err)
	}
	var list struct {
		window
		Data []window `json:"data"`
	}
	if got.status != http.StatusOK || json.Unmarshal(got.body, &list) != nil {
		return 0, nil // a server need not have a list
	}
	out := list.window
	for _, m := range list.Data {
		if m.ID == model || len(list.Data) == 1 && out.size() == 0 {
			out = m
		}
	}

	return out.size(), nil
}

// Window returns the smallest window that the servers report, or 0 if none does. The error is nil.
func (p *Pool) Window(ctx context.Context, model string) (least int, err error) {
	for _, s := range p.servers {
		n, err := s.client.Window(ctx, model)
		if err == nil && n > 0 && (least == 0 || n < least) {
			least = n
		}
	}

	return least, nil
}
