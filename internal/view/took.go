package view

import (
	"context"
	"math"
	"path"
	"time"

	"github.com/collabui/collabui/internal/store"
)

// Took holds how long parts of an episode took, in seconds, derived from the times at which the store received their
// records. It is zero if a time is not known. In a copy of a run, the times are the copy's.
type Took struct {
	// Steps are the times between decisions: the environment executes one, and the calls for the next one are made.
	Steps  []float64 `json:"steps,omitempty"`
	Labels float64   `json:"labels,omitempty"` // from the end of the episode
	Pairs  float64   `json:"pairs,omitempty"`  // from the labels
}

// detail returns an episode as its page shows it, including how long it took.
func (r epoch) detail(ctx context.Context, episode Episode) (detail, error) {
	d := episode.detail()
	var err error
	d.Took, err = r.durations(ctx, episode)

	return d, err
}

// durations returns how long an episode took.
func (r epoch) durations(ctx context.Context, episode Episode) (out Took, err error) {
	clock, ok := r.b.(store.Clock)
	if !ok {
		return out, nil
	}
	slot := episode.Episode.Slot.Number
	attempt := max(episode.Episode.Attempt, 1)
	start := r.run.Start(r.number, slot, attempt).Key
	all, err := clock.Ages(ctx, path.Dir(path.Dir(start))+"/")
	if err != nil {
		return out, err
	}
	written := map[string]time.Time{}
	for _, aged := range all {
		written[aged.Key] = aged.Written
	}
	between := func(from, to string) float64 {
		at := written[from]
		moment := written[to]
		if at.IsZero() || moment.IsZero() {
			return 0
		}

		return max(0, math.Round(moment.Sub(at).Seconds()*100)/100)
	}
	last := start
	for i := range episode.Steps {
		step := r.run.Step(r.number, slot, attempt, i+1).Key
		out.Steps = append(out.Steps, between(last, step))
		last = step
	}
	credits := r.run.Credits(r.number, slot).Key
	out.Labels = between(r.run.Attempt(r.number, slot, attempt).Key, credits)
	out.Pairs = between(credits, r.run.Pairs(r.number, slot).Key)

	return out, nil
}
