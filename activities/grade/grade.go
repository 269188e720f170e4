// Package grade has the activities that label the episodes of an epoch and make pairs of them, by the critic and the
// adversary of a run. It does not know how policies are trained on the pairs.
package grade

import (
	"context"
	"fmt"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/credit"
	"github.com/collabui/collabui/internal/observe/events"
	"github.com/collabui/collabui/internal/policy/endpoints"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// Models label episodes and make pairs of them.
type Models struct {
	activities.Common
	Feedback Feedback
}

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

// grading is the grading of a slot's episode. It reads the episode once.
type grading struct {
	*Models
	activities.SlotID
	progress activities.Progress

	read       *Episode
	credits    *runs.Credits
	creditsRef store.Ref
}

// Episode is a recorded episode with its steps.
type Episode struct {
	Slot    domain.Slot
	Success bool

	ref   store.Ref
	steps []domain.Step
}

// episode returns the episode of the slot.
func (g *grading) episode(ctx context.Context) (Episode, error) {
	if g.read != nil {
		return *g.read, nil
	}
	e, ref, err := runs.Run(g.Run).Episode(ctx, g.Bucket, g.Epoch, g.Slot)
	if err != nil {
		return Episode{}, err
	}
	recorded, err := e.ReadSteps(ctx, g.Bucket)
	out := Episode{ref: ref, Slot: e.Slot, Success: e.Outcome.Success}
	for _, step := range recorded {
		out.steps = append(out.steps, step.Step)
	}
	if err == nil {
		g.read = &out
	}

	return out, err
}

// check returns the error of having recorded what was made of an episode. Otherwise it returns a corrupt fault if
// that was not the episode of the slot.
func (g *grading) check(ctx context.Context, episode, record store.Ref, err error) error {
	if err != nil {
		return err
	}
	own := store.Ref{}
	if g.read != nil {
		own = g.read.ref
	} else {
		_, own, err = runs.Run(g.Run).Episode(ctx, g.Bucket, g.Epoch, g.Slot)
		if err != nil {
			return err
		}
	}
	if episode.Same(own) {
		return nil
	}

	return fault.New(fault.Corrupt, "%s was written by another run of this name, or of another episode than %s: "+
		"delete this object, then resume the run, which makes it again", record.Key, own.Key)
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
