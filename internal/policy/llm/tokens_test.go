package llm

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/test/kit/injection"
)

// TestNoRequestHasAControlToken puts every injection of the corpus into every text of requests for answers and for
// scores.
func TestNoRequestHasAControlToken(t *testing.T) {
	hostile := strings.Join(injection.Corpus(), "\n")
	base, _, sent := server(t, 200, nil, answer)
	for _, images := range [][]chat.Image{nil, {{PNG: []byte{1}}}} {
		c := must(t, Config{BaseURL: base, Images: images != nil})
		_, err := c.Complete(t.Context(), chat.Request{
			System: hostile, User: hostile, Images: images,
			More: []chat.Turn{{Assistant: true, Text: hostile}, {Text: hostile}},
		})
		if err != nil {
			t.Fatal(err)
		}
		wantBroken(t, sent, 4)
	}

	base, _, sent = server(t, 200, nil, `{"scores":[{"logprob":-1,"tokens":1}]}`)
	c := must(t, Config{BaseURL: base})
	_, err := c.Score(t.Context(), chat.ScoreRequest{System: hostile, User: hostile, Answers: []string{hostile}})
	if err != nil {
		t.Fatal(err)
	}
	wantBroken(t, sent, 3)
}

// wantBroken checks that a request contains the given number of hostile texts, and no control token.
func wantBroken(t *testing.T, sent map[string]any, texts int) {
	t.Helper()
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(sent); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(b.String(), "Free money"); got != texts {
		t.Fatalf("the request has %d hostile texts, want %d", got, texts)
	}
	for _, token := range domain.ControlTokens {
		if strings.Contains(b.String(), token) {
			t.Errorf("a request has %s, want it broken", token)
		}
	}
}
