package gateway

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/policy/llm"
	"github.com/collabui/collabui/test/kit/fakeengine"
)

// scoreByLength scores an answer for the fake engine: every byte of an answer has the log-probability −1, or −2 with an
// adapter whose weights are "two", plus −0.25 for every byte of its prompt.
func scoreByLength(dir, system, user, answer string) float64 {
	per := 1.0
	if raw, err := os.ReadFile(filepath.Join(dir, "adapter_model.safetensors")); err == nil && string(raw) == "two" {
		per = 2
	}

	return -per*float64(len(answer)) - 0.25*float64(len(system)+len(user))
}

// pool returns a client of the stage's gateway.
func (s *stage) pool() *llm.Pool {
	s.t.Helper()
	p, err := llm.PolicyServers([]string{s.url + "/v1"}, llm.Config{Timeout: 10 * time.Second})
	if err != nil {
		s.t.Fatal(err)
	}

	return p
}

func TestAnAnswerIsScoredByItsOwnTokensOnly(t *testing.T) {
	for name, sglang := range map[string]bool{"vllm": false, "sglang": true} {
		t.Run(name, func(t *testing.T) {
			e := &fakeengine.Engine{SGLang: sglang, LogProb: scoreByLength}
			s := setUp(t, e, nil)
			one, two := s.lora("one"), s.lora("two")
			for _, c := range []struct {
				policy string
				per    float64
			}{{one, 1}, {two, 2}} {
				r := chat.ScoreRequest{
					Model:   c.policy,
					System:  "s<>",
					User:    "you",
					Answers: []string{"abc", "\n& ä", ""},
				}
				got, err := s.pool().Score(t.Context(), r)
				if err != nil {
					t.Fatal(err)
				}
				for i, want := range []float64{-3*c.per - 1.5, -5*c.per - 1.5, 0} {
					if answer := r.Answers[i]; got[i].LogProb != want || got[i].Tokens != len(answer) {
						t.Errorf("score of %q = %+v, want %v over %d tokens", answer, got[i], want, len(answer))
					}
				}
			}
		})
	}
}

// TestAnAnswerToAPictureIsScoredWithIt compares scores of the same answer to the same text with two pictures. The score
// counts the bytes of the prompt, in which the fake engine puts the digest of a picture in its place.
func TestAnAnswerToAPictureIsScoredWithIt(t *testing.T) {
	seen := map[string]bool{} // user messages, as the engine read them
	var mu sync.Mutex
	e := &fakeengine.Engine{LogProb: func(dir, system, user, answer string) float64 {
		mu.Lock()
		defer mu.Unlock()
		seen[user] = true

		return scoreByLength(dir, system, user, answer)
	}}
	s := setUp(t, e, nil)
	r := chat.ScoreRequest{Model: s.lora("one"), System: "s", User: "you", Answers: []string{"abc", ""}}
	for _, png := range []string{"first", "second"} {
		r.Images = []chat.Image{chat.NewImage([]byte(png))}
		got, err := s.pool().Score(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		user := "you" + fakeengine.Picture([]byte(png))
		want := scoreByLength("", "s", user, "abc")
		if math.Abs(got[0].LogProb-want) > 1e-9 || got[0].Tokens != 3 || got[1] != (chat.Score{}) {
			t.Errorf("scores with picture %s = %+v, want %v over 3 tokens and 0", png, got, want)
		}
		if !seen[user] {
			t.Errorf("the engine read %v, want %q", seen, user)
		}
	}

	s = setUp(t, &fakeengine.Engine{SGLang: true, LogProb: scoreByLength}, nil)
	r.Model = s.lora("one")
	_, err := s.pool().Score(t.Context(), r)
	if !errors.Is(err, chat.ErrNoScores) || !strings.Contains(err.Error(), "with vLLM only") {
		t.Errorf("Score with SGLang = %v, want an ErrNoScores that names vLLM", err)
	}
}

func TestAPolicyThatTheEngineLostIsLoadedAgainForItsScore(t *testing.T) {
	e := &fakeengine.Engine{LogProb: scoreByLength}
	s := setUp(t, e, nil)
	r := chat.ScoreRequest{Model: s.lora("two"), User: "u", Answers: []string{"abc"}}
	for range 2 {
		got, err := s.pool().Score(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if want := -6.25; got[0].LogProb != want {
			t.Errorf("log-probability = %v, want %v", got[0].LogProb, want)
		}
		e.Restart()
	}
}

func TestAnEngineThatCannotScoreSaysSo(t *testing.T) {
	for want, sglang := range map[string]bool{
		"the engine has no /tokenize":                  false,
		"this SGLang does not return prompt_token_ids": true,
	} {
		t.Run(want, func(t *testing.T) {
			s := setUp(t, &fakeengine.Engine{SGLang: sglang}, nil)
			_, err := s.pool().Score(t.Context(),
				chat.ScoreRequest{Model: s.lora("one"), User: "u", Answers: []string{"abc"}})
			if !errors.Is(err, chat.ErrNoScores) || !strings.Contains(err.Error(), want) {
				t.Errorf("Score = %v, want an ErrNoScores that says %q", err, want)
			}
		})
	}

	s := setUp(t, &fakeengine.Engine{LogProb: scoreByLength}, nil)
	s.wants(http.MethodPost, "/v1/answers/score", `{"model":"x"}`, http.StatusBadRequest, "answers")
}

func TestAModelWhoseTurnsAPageCanForgeIsRefused(t *testing.T) {
	for _, sglang := range []bool{false, true} {
		t.Run(fmt.Sprintf("SGLang %v", sglang), func(t *testing.T) {
			e := &fakeengine.Engine{SGLang: sglang, LogProb: scoreByLength, PlainTurns: true}
			s := setUp(t, e, nil)
			_, err := s.pool().Score(t.Context(),
				chat.ScoreRequest{Model: s.lora("one"), User: "u", Answers: []string{"abc"}})
			if err == nil || !strings.Contains(err.Error(), `"ASSISTANT:", which a page can write`) {
				t.Errorf("Score = %v, want the refusal of the model", err)
			}
		})
	}
}
