package grade

import (
	"context"
	"fmt"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/credit"
	"github.com/collabui/collabui/internal/observe/events"
	"github.com/collabui/collabui/internal/policy/endpoints"
	"github.com/collabui/collabui/internal/records/runs"
)

// Credited counts the labels of an episode.
type Credited struct {
	credit.LabelCounts
	Refused int    `json:",omitempty"` // steps for which the critic's model gave no usable answer
	Why     string `json:",omitempty"` // the reason at the first of these steps
}

// Paired contains how an episode was labelled, and how many pairs were made of it.
type Paired struct {
	Credited
	Pairs int
}

// CreditAndPairing labels every cell of an episode, then makes its preference pairs, or its samples for GRPO. Labels
// that an attempt recorded before it was cut short stay.
func (m *Models) CreditAndPairing(ctx context.Context, id activities.SlotID) (Paired, error) {
	log := m.Log.For(id.Run, "epoch", id.Epoch, "slot", id.Slot)
	ctx = endpoints.InEpoch(ctx, id.Epoch)

	return activities.Do(ctx, log, func(ctx context.Context, progress activities.Progress) (Paired, error) {
		g := &grading{Models: m, SlotID: id, progress: progress}
		credits, err := g.credit(ctx)
		if err != nil {
			return Paired{}, err
		}
		paired := Paired{Credited: creditedOf(credits)}
		paired.Pairs, err = g.pair(ctx)
		if err != nil {
			return paired, err
		}
		m.Emit.Send(id.Run, events.Labels{
			Epoch: id.Epoch, Slot: id.Slot,
			Right: paired.Positive, Wrong: paired.Negative, Unsure: paired.Uncertain, Pairs: paired.Pairs,
		})

		return paired, nil
	})
}

// maxQuoted is how much of a critic's answer is quoted, in characters.
const maxQuoted = 200

// creditedOf counts labels.
func creditedOf(credits runs.Credits) Credited {
	out := Credited{LabelCounts: credit.CountLabels(credits.Steps)}
	for _, audit := range credits.Audit {
		why := audit.UselessReason()
		if why == "" {
			continue
		}
		out.Refused++
		if out.Why == "" {
			out.Why = fmt.Sprintf("step %d: %s", audit.Step, agents.Line(why, maxQuoted))
		}
	}

	return out
}
