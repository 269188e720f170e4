package activities

import (
	"context"

	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/observe/events"
	"github.com/collabui/collabui/internal/policy/endpoints"
)

// Rollouts play episodes in environments: of training, of evaluation and of stage 1.
type Rollouts struct {
	Common
	Suites    *Suites
	Policies  chat.Model           // answers for the agents; a model's name is a policy's digest
	Endpoints *endpoints.Endpoints // for models that play other roles
	Wording   Wording
}

// SlotID names a slot of a run.
type SlotID struct {
	Run   string
	Epoch int
	Slot  int
}

// Played is an episode in a few figures.
type Played struct {
	Attempt int
	Steps   int
	Success bool
	Failed  string // why the slot has no episode
	Host    string // the host that ended it
	Cells   int    `json:",omitempty"` // of all steps
	Refused int    `json:",omitempty"` // cells whose prompts the model refused
	Brief   string `json:",omitempty"` // goal and actions, for people
}

// Limits of one slot.
const (
	maxVoids        = 8 // attempts that infrastructure voids before the activity ends, to be tried again later
	maxReplacements = 3 // replacements that are at fault, too, before the slot counts as failed
)

// Rollout plays one slot to its end and records every decision before it is executed. A second execution adopts what is
// recorded: it replays the recorded actions, compares what it sees, and continues from there. Recorded model calls are
// not made again.
func (r *Rollouts) Rollout(ctx context.Context, id SlotID) (Played, error) {
	log := r.log(id.Run, "epoch", id.Epoch, "slot", id.Slot)
	ctx = endpoints.InEpoch(ctx, id.Epoch)

	return do(ctx, log, func(ctx context.Context, say say) (Played, error) {
		s, suite, err := r.suite(ctx, id.Run, id.Epoch)
		if err != nil {
			return Played{}, err
		}
		a, err := r.attempt(ctx, id, s, suite, say)
		if err != nil {
			return Played{}, err
		}

		e, err := a.untilDone(ctx)
		if err != nil {
			return Played{}, err
		}
		r.Emit.send(id.Run, events.Episode{
			Epoch: id.Epoch, Slot: id.Slot, Success: e.Outcome.Success, Steps: e.Outcome.Steps,
		})
		if m, ok := suite.(envadapters.Metered); ok {
			r.Emit.send(id.Run, events.Environment{Suite: suite.Name(), Figures: m.Figures()})
		}

		brief, err := a.brief(ctx, e)
		if err != nil {
			return Played{}, err
		}

		return Played{
			Brief:   brief,
			Attempt: a.number, Steps: e.Outcome.Steps, Success: e.Outcome.Success, Failed: e.Failed, Host: Hostname(),
			Cells: e.Outcome.Steps * s.Agents * s.Rounds, Refused: e.Outcome.Refused,
		}, nil
	})
}

// suite returns the specification of an epoch and the suite that it trains on.
func (r *Rollouts) suite(ctx context.Context, run string, epoch int) (spec.Spec, envadapters.Suite, error) {
	s, err := r.spec(ctx, run, epoch)
	if err != nil {
		return s, nil, err
	}
	suite, err := r.Suites.get(ctx, s.Where(s.Environment))

	return s, suite, err
}
