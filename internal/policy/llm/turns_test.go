package llm

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/collabui/collabui/fault"
)

// tokenServer shows its tokens, which are bytes, as vLLM or llama.cpp does. template contains %s in place of the
// message.
func tokenServer(t *testing.T, llama bool, template string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Prompt, Content string
			Tokens          []int
			Messages        []struct{ Content string }
		}
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			t.Error(err)
		}

		out := map[string]any{}
		text := q.Prompt
		if llama {
			text = q.Content
		}
		if len(q.Messages) > 0 {
			text = fmt.Sprintf(template, q.Messages[0].Content)
		}
		switch {
		case r.URL.Path == "/apply-template" && llama:
			out["prompt"] = text
		case r.URL.Path == "/tokenize":
			ids := []int{}
			for _, b := range []byte(text) {
				ids = append(ids, int(b))
			}
			out["tokens"] = ids
		case r.URL.Path == "/detokenize" && !llama:
			raw := make([]byte, len(q.Tokens))
			for i, id := range q.Tokens {
				raw[i] = byte(id)
			}
			out["prompt"] = string(raw)
		default:
			w.WriteHeader(http.StatusNotFound)

			return
		}
		_ = json.NewEncoder(w).Encode(out)
	}))
	t.Cleanup(s.Close)

	return s.URL + "/v1"
}

func TestAServerShowsWhetherTurnsCanBeForged(t *testing.T) {
	for _, llama := range []bool{false, true} {
		for template, forged := range map[string]bool{
			"<|im_start|>user\n%s<|im_end|>\n<|im_start|>assistant\n": false,
			"USER: %s ASSISTANT:": true,
		} {
			c := must(t, Config{BaseURL: tokenServer(t, llama, template), Model: "m"})
			err := c.CheckTurns(t.Context())
			if (fault.KindOf(err) == fault.Invalid) != forged || !forged && err != nil {
				t.Errorf("llama.cpp %v, %q: CheckTurns() = %v, want an invalid fault: %v", llama, template, err, forged)
			}
		}
	}

	for _, status := range []int{200, 404, 401, 500} { // servers that do not show tokens
		base, _, _ := server(t, status, nil, answer)
		if err := must(t, Config{BaseURL: base, Model: "m"}).CheckTurns(t.Context()); err != nil {
			t.Errorf("status %d: CheckTurns() = %v, want none", status, err)
		}
	}
}
