package tinyserver

import (
	"errors"
	"math"
	"net/http"

	"github.com/collabui/collabui/internal/httpd"
	"github.com/collabui/collabui/internal/policy/tinylm"
)

// score serves the log-probabilities of answers. A token is one choice of the grammar.
func (s *Server) score(w http.ResponseWriter, r *http.Request) {
	scoreRequest, err := httpd.ReadScoreRequest(r.Body)
	if err != nil {
		s.fail(w, r, http.StatusBadRequest, err)

		return
	}

	if len(scoreRequest.Images) > 0 {
		s.fail(w, r, http.StatusBadRequest, errors.New("the small policy sees no pictures"))

		return
	}

	pol, err := s.policy(r.Context(), scoreRequest.Model)
	if err != nil {
		s.fail(w, r, statusOf(err), err)

		return
	}

	s.metrics.Count(r.URL.Path, http.StatusOK)
	httpd.WriteScores(w, scores(pol.Model, scoreRequest.User, scoreRequest.Answers))
}

// scores returns the scores of answers to a prompt. An answer that the grammar cannot express has log-probability −∞.
func scores(model *tinylm.Model, prompt string, answers []string) []httpd.Score {
	p := tinylm.ParsePrompt(prompt)
	out := make([]httpd.Score, len(answers))
	example := tinylm.Example{Prompt: p}
	var at []int // index of the answer of each choice in example
	for i, a := range answers {
		if choice, err := p.Parse(a); err == nil {
			example.Answers = append(example.Answers, choice)
			at = append(at, i)
		} else {
			out[i] = httpd.NewScore(math.Inf(-1), 0)
		}
	}

	if len(at) == 0 {
		return out
	}
	for k, logprob := range model.LogProbs([]tinylm.Example{example}, 1)[0] {
		out[at[k]] = httpd.NewScore(logprob, example.Answers[k].Made())
	}

	return out
}
