package tinyserver

import (
	"math"
	"net/http"

	"github.com/collabui/collabui/internal/policy/serving"
	"github.com/collabui/collabui/internal/policy/tinylm"
)

// score returns the log-probabilities of answers. A token is one choice of the grammar.
func (s *Server) score(w http.ResponseWriter, r *http.Request) {
	q, err := serving.ReadScoreRequest(r.Body)
	if err != nil {
		s.fail(w, r, http.StatusBadRequest, err)

		return
	}

	pol, err := s.policy(r.Context(), q.Model)
	if err != nil {
		s.fail(w, r, statusOf(err), err)

		return
	}

	s.metrics.Count(r.URL.Path, http.StatusOK)
	serving.WriteScores(w, scores(pol.Model, q.User, q.Answers))
}

// scores returns the scores of answers to a prompt. One that the grammar cannot express has the log-probability −∞.
func scores(m *tinylm.Model, prompt string, answers []string) []serving.Score {
	p := tinylm.ParsePrompt(prompt)
	out := make([]serving.Score, len(answers))
	e := tinylm.Example{Prompt: p}
	var at []int // the answer of each choice of e
	for i, a := range answers {
		if c, err := p.Parse(a); err == nil {
			e.Answers = append(e.Answers, c)
			at = append(at, i)
		} else {
			out[i] = serving.NewScore(math.Inf(-1), 0)
		}
	}

	if len(at) == 0 {
		return out
	}
	for k, logprob := range m.LogProbs([]tinylm.Example{e}, 1)[0] {
		out[at[k]] = serving.NewScore(logprob, e.Answers[k].Made())
	}

	return out
}
