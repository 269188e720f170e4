// Package rollout has the activity that plays a slot of an epoch: it reads what the epoch planned, lets
// internal/method/attempt play, and keeps the attempts in the store.
package rollout

import (
	"context"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/activities/play"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/internal/method/attempt"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/episode"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/observe/events"
	"github.com/collabui/collabui/internal/policy/endpoints"
	"github.com/collabui/collabui/internal/records/runs"
)

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
func (r *Rollouts) Rollout(ctx context.Context, id activities.SlotID) (Played, error) {
	log := r.Log.For(id.Run, "epoch", id.Epoch, "slot", id.Slot)
	ctx = endpoints.InEpoch(ctx, id.Epoch)

	return activities.Do(ctx, log, func(ctx context.Context, progress activities.Progress) (Played, error) {
		given, suite, err := play.TrainingSuite(ctx, r.Common, r.Suites, id.Run, id.Epoch)
		if err != nil {
			return Played{}, err
		}
		player, err := r.player(ctx, id, given, suite, progress)
		if err != nil {
			return Played{}, err
		}
		played, err := player.Play(ctx)
		if err != nil {
			return Played{}, err
		}
		outcome := played.Episode.Outcome
		r.Emit.Send(id.Run, events.Episode{
			Epoch: id.Epoch, Slot: id.Slot, Success: outcome.Success, Steps: outcome.Steps,
		})
		if metered, ok := suite.(envadapters.Metered); ok {
			r.Emit.Send(id.Run, events.Environment{Suite: suite.Name(), Figures: metered.Figures()})
		}

		brief, err := r.brief(ctx, played)
		if err != nil {
			return Played{}, err
		}

		return Played{
			Attempt: played.Attempt, Steps: outcome.Steps, Success: outcome.Success, Failed: played.Episode.Failed,
			Host: activities.Hostname(), Cells: outcome.Steps * given.Agents * given.Rounds, Refused: outcome.Refused,
			Brief: brief,
		}, nil
	})
}

// player returns the player of a slot. It refuses a worker that has other versions than the epoch began with.
func (r *Rollouts) player(
	ctx context.Context, id activities.SlotID, given spec.Spec, suite envadapters.Suite, progress activities.Progress,
) (attempt.Player, error) {
	slot, writer, err := r.slot(ctx, id, given, suite)
	if err != nil {
		return attempt.Player{}, err
	}

	return attempt.Player{
		Slot:    slot,
		Journal: journal{r.Bucket, id, writer},
		Open: func(ctx context.Context, body func(envadapters.Environment) error) error {
			return play.In(ctx, r.Common, id.Run, suite, given.Family(), body)
		},
		Model: func(env envadapters.Environment) chat.Model { return play.Steady(r.Policies, env, progress) },
		Summarise: func(seed uint64) func(context.Context, episode.Executed) (string, error) {
			return play.Summariser(r.Endpoints, given, seed)
		},
		Camera: func(env envadapters.Environment) attempt.Camera { return play.NewCamera(r.Bucket, given, env) },
		Voided: func(attempt int, why string) {
			r.Emit.Send(id.Run, events.Void{Epoch: id.Epoch, Slot: id.Slot, Attempt: attempt, Why: why})
		},
		Measure:  r.Metrics.Parts,
		Progress: progress,
	}, nil
}

// slot returns a slot as its epoch planned it, and what identifies the records of the run.
func (r *Rollouts) slot(
	ctx context.Context, id activities.SlotID, given spec.Spec, suite envadapters.Suite,
) (attempt.Slot, activities.Writer, error) {
	writer, err := r.Runs.Writer(ctx, id.Run)
	if err != nil {
		return attempt.Slot{}, writer, err
	}
	epoch, err := r.Runs.EpochSlots(ctx, id.Run, id.Epoch)
	if err != nil {
		return attempt.Slot{}, writer, err
	}
	if err := writer.Check(runs.Run(id.Run).Slots(id.Epoch).Key, epoch.Slots.By, nil); err != nil {
		return attempt.Slot{}, writer, err
	}
	if err := r.Runs.CheckVersions(ctx, given, id.Epoch, suite); err != nil {
		return attempt.Slot{}, writer, err
	}
	system := epoch.Slots.System
	planned := epoch.Slots.Slots[id.Slot-1]
	decoding, err := rules.Decoding(given, system.Digests(), epoch.Topology, planned.Seed)
	decoding.Template = rules.Bound(given, decoding.Template, r.Over)

	return attempt.Slot{
		Run: id.Run, Epoch: id.Epoch, Number: id.Slot, Planned: planned, Spec: given, Suite: suite,
		Decoding: decoding, Version: system.Version, Topology: epoch.TopologyRef,
	}, writer, err
}
