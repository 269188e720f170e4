package tinyserver

import (
	"errors"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/policy/tinylm"
)

func TestTheScoreOfASampledAnswerIsTheLogProbabilityItWasSampledWith(t *testing.T) {
	s, name, m := serve(t)
	outs, _ := tinylm.NewPolicy(m).Sample(tinylm.ParsePrompt(prompt), tinylm.Sampling{N: 6, Temperature: 1, TopP: 1})
	r := chat.ScoreRequest{Model: name, System: "x", User: prompt, Answers: []string{"no sentence of the grammar"}}
	for _, o := range outs {
		r.Answers = append(r.Answers, o.Text)
	}

	got, err := pool(t, s.URL).Score(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(r.Answers) {
		t.Fatalf("%d scores, want one for each of %d answers", len(got), len(r.Answers))
	}
	if !math.IsInf(got[0].LogProb, -1) || got[0].Tokens != 0 {
		t.Errorf("score of %q = %+v, want −∞ and no tokens", r.Answers[0], got[0])
	}

	for i, o := range outs {
		if g := got[i+1]; math.Abs(g.LogProb-o.LogProb) > 1e-4 || g.Tokens != len(o.Steps) {
			t.Errorf("score of %q = %+v, want %v over %d tokens", o.Text, g, o.LogProb, len(o.Steps))
		}
	}
}

func TestARequestForScoresThatCannotBeServedSaysWhy(t *testing.T) {
	s, name, _ := serve(t)
	for _, c := range []struct {
		name, want string
		kind       fault.Kind
		ask        chat.ScoreRequest
	}{
		{"no answers", "at least one of answers", fault.Refused, chat.ScoreRequest{Model: name, User: prompt}},
		{"unknown policy", "is not served", fault.Transient,
			chat.ScoreRequest{Model: strings.Repeat("a", 64), User: prompt, Answers: []string{"x"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := pool(t, s.URL).Score(t.Context(), c.ask)
			if err == nil || !strings.Contains(err.Error(), c.want) || fault.KindOf(err) != c.kind {
				t.Errorf("Score = %v, want a fault of kind %s that says %q", err, c.kind, c.want)
			}
		})
	}
}

func TestAServerWithoutScoresSaysSo(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotImplemented)
		_, _ = w.Write([]byte(`{"error":{"message":"too old"}}`))
	}))
	t.Cleanup(s.Close)

	_, err := pool(t, s.URL).Score(t.Context(), chat.ScoreRequest{Model: "m", User: "u", Answers: []string{"a"}})
	if !errors.Is(err, chat.ErrNoScores) || fault.KindOf(err) != fault.Invalid ||
		!strings.Contains(err.Error(), "too old") {
		t.Errorf("Score = %v, want an invalid fault that wraps ErrNoScores and says why", err)
	}
}
