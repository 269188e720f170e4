package rollout

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/attempt"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// Bounds of a brief, in characters of the goal and of an action, and in actions.
const (
	briefGoal    = 160
	briefAction  = 60
	briefActions = 12
)

// brief returns an episode in a few short lines of plain text, for the page of its workflow: the goal and the executed
// actions. It is the only text of a web page that a history holds: it is bounded, and texts keep no line breaks.
func (r *Rollouts) brief(ctx context.Context, played attempt.Played) (string, error) {
	episode := played.Episode
	lines := []string{"goal: " + agents.Line(episode.Goal, briefGoal)}
	if len(episode.Steps) == 0 {
		return lines[0], nil
	}
	last := played.Last
	ref := episode.Steps[len(episode.Steps)-1]
	if ref != played.LastRef { // it was played elsewhere
		var err error
		if last, _, err = store.Must[runs.Step](ctx, r.Bucket, ref.Key); err != nil {
			return "", err
		}
	}
	done := slices.Clip(last.History) // the environment may share it with other episodes
	if last.Decision.AllRound.Canonical != "" {
		words := agents.ActionInWords(last.Decision.Executed, last.Observation)
		done = append(done, fmt.Sprintf("%d %s", last.Number, words))
	}
	from := max(0, len(done)-briefActions)
	if from > 0 {
		lines = append(lines, fmt.Sprintf("… %d actions before", from))
	}
	for _, action := range done[from:] {
		lines = append(lines, agents.Line(action, briefAction))
	}

	return strings.Join(lines, "\n"), nil
}
