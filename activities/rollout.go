package activities

import (
	"context"

	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/internal/method/attempt"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/episode"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/policy/endpoints"
	"github.com/collabui/collabui/internal/process/events"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
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
		player, err := r.player(ctx, id, s, suite, say)
		if err != nil {
			return Played{}, err
		}
		played, err := player.Play(ctx)
		if err != nil {
			return Played{}, err
		}
		e := played.Episode
		r.Emit.send(id.Run, events.Episode{
			Epoch: id.Epoch, Slot: id.Slot, Success: e.Outcome.Success, Steps: e.Outcome.Steps,
		})
		if m, ok := suite.(envadapters.Metered); ok {
			r.Emit.send(id.Run, events.Environment{Suite: suite.Name(), Figures: m.Figures()})
		}

		brief, err := r.brief(ctx, played)
		if err != nil {
			return Played{}, err
		}

		return Played{
			Brief:   brief,
			Attempt: played.Attempt, Steps: e.Outcome.Steps, Success: e.Outcome.Success, Failed: e.Failed, Host: Hostname(),
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

// player returns what plays a slot. It refuses a worker that has other versions than the epoch began with.
func (r *Rollouts) player(
	ctx context.Context, id SlotID, s spec.Spec, suite envadapters.Suite, say say,
) (attempt.Player, error) {
	own, err := r.own(ctx, id.Run)
	if err != nil {
		return attempt.Player{}, err
	}
	p, err := r.plan(ctx, id.Run, id.Epoch)
	if err := own.check(runs.Run(id.Run).Slots(id.Epoch).Key, p.slots.By, err); err != nil {
		return attempt.Player{}, err
	}
	if err := r.sameAs(ctx, s, id.Epoch, suite); err != nil {
		return attempt.Player{}, err
	}
	decoding, err := rules.Decoding(s, p.slots.System.Digests(), p.topology)
	decoding.Template = rules.Bound(s, decoding.Template, r.Wording.Over)

	return attempt.Player{
		Slot: attempt.Slot{
			Run: id.Run, Epoch: id.Epoch, Number: id.Slot, Planned: p.slots.Slots[id.Slot-1], Spec: s, Suite: suite,
			Decoding: decoding, Version: p.slots.System.Version, Topology: p.ref,
		},
		Journal: journal{r.Bucket, id, own},
		Open: func(ctx context.Context, play func(envadapters.Environment) error) error {
			return r.in(ctx, id.Run, suite, s.Family(), play)
		},
		Model: func(env envadapters.Environment) chat.Model { return steadily(r.Policies, env, say) },
		Summarise: func(seed uint64) func(context.Context, episode.Executed) (string, error) {
			return summarise(r.Endpoints, s, seed)
		},
		Screenshot: func(ctx context.Context, env envadapters.Environment) (*store.Ref, error) {
			return r.picture(ctx, s, env)
		},
		LastScreen: func(
			ctx context.Context, env envadapters.Environment, played episode.Played,
		) (*runs.Screen, error) {
			return r.end(ctx, s, env, played)
		},
		Voided: func(attempt int, why string) {
			r.Emit.send(id.Run, events.Void{Epoch: id.Epoch, Slot: id.Slot, Attempt: attempt, Why: why})
		},
		Measure: r.Metrics.Parts, Progress: say,
	}, err
}
