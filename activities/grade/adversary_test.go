package grade

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/chat"
)

// scorer answers with fixed scores, or fails.
type scorer struct {
	scores []chat.Score
	err    error
}

func (s scorer) Score(context.Context, chat.ScoreRequest) ([]chat.Score, error) {
	return s.scores, s.err
}

func TestAChatModelsMistakesAreAsHardAsTheAgentFindsThemProbable(t *testing.T) {
	down := errors.New("the server is down")
	for name, c := range map[string]struct {
		scorer scorer
		want   []float64
		err    error
	}{
		"scored": {scorer{scores: []chat.Score{{LogProb: -2}, {LogProb: -0.5}}}, []float64{-2, -0.5}, nil},
		"one cannot be said": {
			scorer{scores: []chat.Score{{LogProb: math.Inf(-1)}, {LogProb: -1}}}, []float64{0, -1}, nil,
		},
		"no scores": {scorer{err: fmt.Errorf("an old engine: %w", chat.ErrNoScores)}, nil, nil},
		"no server": {scorer{err: down}, nil, down},
	} {
		t.Run(name, func(t *testing.T) {
			f := Feedback{Scores: c.scorer}
			got, err := f.hardness(t.Context(), "policy", "system", domain.Cell{Prompt: "prompt"}, []string{"a", "b"})
			if !slices.Equal(got, c.want) || !errors.Is(err, c.err) {
				t.Errorf("hardness = %v, %v; want %v, %v", got, err, c.want, c.err)
			}
		})
	}
}
