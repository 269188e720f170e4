package stage1

import (
	"context"
	"fmt"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/activities/play"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/episode"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/method/synth"
	"github.com/collabui/collabui/internal/records/runs"
)

// DemoBatch is the number of tasks that one activity of stage 1 plays.
const DemoBatch = 40

// Batch names a range of a run's tasks.
type Batch struct {
	Run  string
	From int
	To   int // exclusive
}

// Demonstrate lets the environment's expert play training tasks, and records prompt and answer of every step. It
// returns the number of answers. A share of prompts carries messages, half of them wrong, because messages that were
// never seen in stage 1 hurt at first (docs/method.md, Stage 1).
func (r *Rollouts) Demonstrate(ctx context.Context, batch Batch) (int, error) {
	log := r.Log.For(batch.Run, "from", batch.From, "to", batch.To)

	return activities.Do(ctx, log, func(ctx context.Context, progress activities.Progress) (int, error) {
		tasks, err := r.tasks(ctx, batch)
		if err != nil {
			return 0, err
		}
		answers := 0
		record := func(i int, play func() (runs.Demonstration, error)) error {
			recorded := runs.Run(batch.Run).Demonstration(i)
			demonstration, _, err := recorded.Record(ctx, r.Bucket, func() (runs.Demonstration, error) {
				demonstration, err := play()
				demonstration.By = tasks.writer.By

				return demonstration, err
			})
			answers += len(demonstration.Pairs)

			return tasks.writer.Check(recorded.Key, demonstration.By, err)
		}
		play := func(i int) error {
			progress(fmt.Sprintf("demonstration %d", i))

			return record(i, func() (out runs.Demonstration, err error) {
				err = tasks.playOrReplace(i, func(slot domain.Slot) error {
					out, err = r.demonstrate(ctx, tasks.spec, tasks.suite, slot)

					return err
				})

				return out, err
			})
		}
		leaveOut := func(i int, why string) error {
			return record(i, func() (runs.Demonstration, error) { return runs.Demonstration{Failed: why}, nil })
		}
		err = tasks.playAll(ctx, r.Bucket, play, leaveOut)

		return answers, err
	})
}

// demonstrate plays one task as the expert does and writes the pair of every step.
func (r *Rollouts) demonstrate(
	ctx context.Context, given spec.Spec, suite envadapters.Suite, slot domain.Slot,
) (runs.Demonstration, error) {
	out := runs.Demonstration{Slot: slot}
	target, err := r.Wording.Target(given)
	if err != nil {
		return out, err
	}

	err = play.In(ctx, r.Common, given.Name, suite, given.Family(), func(env envadapters.Environment) error {
		if !episode.CanDemonstrate(env) {
			return episode.NoExpert(given)
		}
		rng := domain.Rand(slot.Seed, "demonstration")
		out.Pairs = nil
		player := episode.Player{
			Decide: func(_ context.Context, turn episode.Turn) (domain.Action, error) {
				helpful := episode.Helpful(env)
				if len(helpful) == 0 {
					return domain.Action{}, episode.ErrStop
				}
				action := helpful[rng.IntN(len(helpful))]
				text := target.Word(action, turn.Observation)
				if err := checkRenders(target, action); err != nil {
					return action, err
				}

				own, peers := target.Messages(rng, text, turn.Observation)
				prompt, err := target.Template.User(turn.View(), own, peers)
				out.Pairs = append(out.Pairs, domain.Example{
					Slot: slot.Number, Step: turn.Number, Template: slot.Task.Template,
					Prompt: prompt, Chosen: text, Weight: 1, Source: domain.SourceExpert,
				})

				return action, err
			},
			Summarise: play.Summariser(r.Endpoints, given, slot.Seed),
		}
		_, err := player.Play(ctx, env, slot.Task)

		return err
	})

	return out, err
}

// checkRenders refuses an action that the embedded policy cannot express.
func checkRenders(target synth.Target, action domain.Action) error {
	if target.Render == nil {
		return nil
	}
	_, err := target.Render(action)

	return fault.As(fault.Invalid, err)
}
