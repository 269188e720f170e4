package stage1

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/activities/play"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/episode"
	"github.com/collabui/collabui/internal/method/picture"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/synth"
	"github.com/collabui/collabui/internal/records/runs"
)

// DemoBatch is the number of tasks that one activity of stage 1 plays.
const DemoBatch = 40

// Demonstrate lets the environment's expert play training tasks, and records prompt and answer of every step. It
// returns the number of answers. A share of prompts carries messages, half of them wrong, because messages that were
// never seen in stage 1 hurt at first. With speech, every step has an answer for every cell of the action matrix
// (docs/method.md, Stage 1).
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
					out, err = r.demonstrate(ctx, tasks, slot)

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
func (r *Rollouts) demonstrate(ctx context.Context, tasks batchTasks, slot domain.Slot) (runs.Demonstration, error) {
	given := tasks.spec
	out := runs.Demonstration{Slot: slot}
	target, err := r.Wording.Target(given)
	if err != nil {
		return out, err
	}

	err = play.In(ctx, r.Common, given.Name, tasks.suite, given.Family(), func(env envadapters.Environment) error {
		if !episode.CanDemonstrate(env) {
			return episode.NoExpert(given)
		}
		rng := domain.Rand(slot.Seed, "demonstration")
		out.Pairs = nil
		config, err := matrixConfig(tasks, slot, target)
		if err != nil {
			return err
		}
		cells := expertCells{Rollouts: r, config: config, policy: tasks.Policy, slot: slot, target: target}
		camera := play.NewCamera(r.Bucket, given, env)
		note := ""
		player := episode.Player{
			Limits: given.Prompt,
			Note:   func() string { return note },
			Look: func(ctx context.Context, screen domain.Observation) (picture.Pictures, error) {
				return camera.Look(ctx, screen, config)
			},
			Decide: func(_ context.Context, turn episode.Turn) (domain.Action, error) {
				helpful := episode.Helpful(env)
				if len(helpful) == 0 {
					return domain.Action{}, episode.ErrStop
				}
				action := helpful[rng.IntN(len(helpful))]
				if err := checkRenders(target, action); err != nil {
					return action, err
				}
				scene := synth.Scene{View: turn.View(), Right: helpful, Because: episode.Because(env)}
				if target.Notes {
					note = scene.Note(action, nil)
				}
				var rows []domain.Example
				if given.Speech {
					rows, err = cells.speak(ctx, scene, turn)
				} else {
					rows, err = actAlone(rng, target, turn, action, note)
				}
				for _, row := range rows {
					row.Slot = slot.Number
					row.Step = turn.Number
					row.Template = slot.Task.Template
					out.Pairs = append(out.Pairs, row)
				}

				return action, err
			},
			Summarise: play.Summariser(r.Endpoints, given, slot.Seed),
		}
		_, err = player.Play(ctx, env, slot.Task)

		return err
	})

	return out, err
}

// matrixConfig returns how the expert of a slot speaks to itself: in as many agents as the run has. Without speech, one
// expert sees the whole screen.
func matrixConfig(tasks batchTasks, slot domain.Slot, target synth.Target) (agents.Config, error) {
	given := tasks.spec
	if !given.Speech {
		return agents.Config{}, nil
	}
	policies := slices.Repeat([]string{tasks.Policy}, given.Agents)
	config, err := rules.Decoding(given, policies, rules.DemonstrationTopology(given, slot), slot.Seed)
	config.Template = target.Template

	return config, err
}

// actAlone returns the example of an expert who sees the whole screen, takes an action and writes a note, if it is not
// empty.
func actAlone(
	rng *rand.Rand, target synth.Target, turn episode.Turn, action domain.Action, note string,
) ([]domain.Example, error) {
	text := agents.WithNote(target.Word(action, turn.Observation), note)
	own, peers := target.Messages(rng, text, turn.Observation)
	prompt, err := target.Template.User(turn.View(), own, peers)

	return []domain.Example{{
		Prompt: prompt, Image: turn.Pictures.Whole.Digest, Chosen: text, Weight: 1, Source: domain.SourceExpert,
	}}, err
}

// heardMistakes is the share of what agents hear in demonstrations that are mistakes of the policy of the chunk before.
const heardMistakes = 0.25

// expertCells is the expert of a slot that speaks in every cell of the action matrix.
type expertCells struct {
	*Rollouts
	config agents.Config
	policy string // whose mistakes agents hear; empty in the first chunk
	slot   domain.Slot
	target synth.Target
}

// speak returns the examples of an expert in every cell of a step's action matrix. At some steps, the agents hear what
// the policy of the chunk before says there, with its mistakes as correlated as they are.
func (e expertCells) speak(ctx context.Context, scene synth.Scene, turn episode.Turn) ([]domain.Example, error) {
	rows, err := e.target.Matrix(e.config, scene, nil)
	if err != nil || e.policy == "" {
		return rows, err
	}

	seed := domain.Seed(e.slot.Seed, "step", turn.Number)
	decision, err := agents.Decide(ctx, e.Policies, e.config, turn.View(), seed)
	if fault.KindOf(err) == fault.Refused {
		return rows, nil
	}
	if err != nil {
		return nil, err
	}
	misled, err := e.target.Matrix(e.config, scene, &decision)
	if err != nil {
		return nil, err
	}
	if domain.Rand(seed, "mistakes").Float64()*scene.Mistaken(decision, misled) < heardMistakes {
		return misled, nil
	}

	return rows, nil
}

// checkRenders refuses an action that the embedded policy cannot express.
func checkRenders(target synth.Target, action domain.Action) error {
	if target.Render == nil {
		return nil
	}
	_, err := target.Render(action)

	return fault.As(fault.Invalid, err)
}
