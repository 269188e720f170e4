package stage1

import (
	"context"
	"fmt"
	"slices"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/activities/play"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/episode"
	"github.com/collabui/collabui/internal/method/picture"
	"github.com/collabui/collabui/internal/method/prompts"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/method/synth"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// Explore lets the UI agent of stage 1 play training tasks, and records what it saw and did: the source of all levels.
// It returns the number of successes; failed episodes count too.
func (r *Rollouts) Explore(ctx context.Context, batch Batch) (int, error) {
	log := r.Log.For(batch.Run, "from", batch.From, "to", batch.To)

	return activities.Do(ctx, log, func(ctx context.Context, progress activities.Progress) (int, error) {
		tasks, err := r.tasks(ctx, batch)
		if err != nil {
			return 0, err
		}
		wins := 0
		record := func(i int, play func() (runs.Trajectory, error)) error {
			recorded := runs.Run(batch.Run).Trajectory(i)
			trajectory, _, err := recorded.Record(ctx, r.Bucket, func() (runs.Trajectory, error) {
				trajectory, err := play()
				trajectory.By = tasks.writer.By

				return trajectory, err
			})
			if trajectory.Success {
				wins++
			}

			return tasks.writer.Check(recorded.Key, trajectory.By, err)
		}
		play := func(i int) error {
			progress(fmt.Sprintf("trajectory %d", i))

			return record(i, func() (out runs.Trajectory, err error) {
				err = tasks.playOrReplace(i, func(slot domain.Slot) error {
					out, err = r.explore(ctx, tasks.spec, tasks.suite, slot)

					return err
				})

				return out, err
			})
		}
		leaveOut := func(i int, why string) error {
			return record(i, func() (runs.Trajectory, error) { return runs.Trajectory{Failed: why}, nil })
		}
		err = tasks.playAll(ctx, r.Bucket, play, leaveOut)

		return wins, err
	})
}

// explore plays one task and keeps its screens.
func (r *Rollouts) explore(
	ctx context.Context, given spec.Spec, suite envadapters.Suite, slot domain.Slot,
) (out runs.Trajectory, err error) {
	err = play.In(ctx, r.Common, given.Name, suite, given.Family(), func(env envadapters.Environment) error {
		agent, err := r.uiAgent(given, env, slot)
		if err != nil {
			return err
		}

		out = runs.Trajectory{Slot: slot}
		var screen synth.Screen
		camera := play.NewCamera(r.Bucket, given, env)
		player := episode.Player{
			Limits: given.Prompt,
			Look: func(ctx context.Context, observation domain.Observation) (picture.Pictures, error) {
				return camera.Look(ctx, observation, agents.Config{})
			},
			Begin: func(_ context.Context, tr envadapters.Transition) error {
				out.Goal = tr.Goal

				return nil
			},
			Decide: func(ctx context.Context, t episode.Turn) (domain.Action, error) {
				screen = synth.Screen{Step: t.Number, History: slices.Clone(t.History), Observation: t.Observation}
				shown := t.Pictures.Whole
				if !given.Observation.Pictured() {
					shown, err = r.screenshot(ctx, given, env)
				}
				if err != nil {
					return domain.Action{}, err
				}
				screen.Image = shown.Digest
				screen.Text, screen.Action, err = agent(ctx, t, shown)
				if err != nil {
					return domain.Action{}, err
				}
				screen.Right = episode.Right(env)
				if screen.Action == nil {
					return domain.Action{Type: domain.ActionNone}, nil
				}

				return *screen.Action, nil
			},
			After: func(_ context.Context, executed episode.Executed) error {
				if len(executed.After.Elements) > 0 {
					screen.After = &executed.After
				}
				out.Screens = append(out.Screens, screen)

				return nil
			},
			Summarise: play.Summariser(r.Endpoints, given, slot.Seed),
		}
		played, err := player.Play(ctx, env, slot.Task)
		out.Success = played.Outcome.Success

		return err
	})

	return out, err
}

// uiAgent returns the response of the UI agent at a turn, and its action, which is nil if the response does not parse.
// shown is the picture of the screen, or empty if none is kept.
type uiAgent func(ctx context.Context, t episode.Turn, shown chat.Image) (string, *domain.Action, error)

// uiAgent returns the UI agent of stage 1: the environment's expert, or a chat model that reads the agents' prompt.
func (r *Rollouts) uiAgent(specification spec.Spec, env envadapters.Environment, slot domain.Slot) (uiAgent, error) {
	if specification.Synthesis.Agent == spec.RoleExpert {
		return r.expert(specification, env, slot)
	}

	model, _, err := r.Endpoints.For(specification, specification.Synthesis.Agent, prompts.Agent)
	if err != nil {
		return nil, err
	}
	template, err := rules.Template(specification)
	settings := specification.Models[specification.Synthesis.Agent]

	return func(ctx context.Context, turn episode.Turn, shown chat.Image) (string, *domain.Action, error) {
		user, err := template.User(turn.View(), "", nil)
		if err != nil {
			return "", nil, err
		}
		request := chat.Request{
			System: template.System(), User: user, Temperature: settings.Temperature, TopP: 1,
			Seed: domain.Seed(slot.Seed, "agent", turn.Number), N: 1,
		}
		if settings.Images {
			request.Images = shown.Images()
		}
		res, err := model.Complete(ctx, request)
		if fault.KindOf(err) == fault.Refused && turn.Number > 1 { // the screens so far are as good as others
			return "", nil, episode.ErrStop
		}
		if err != nil {
			return "", nil, err
		}
		action, err := specification.Answers.Answer(res.Texts[0])
		if err != nil {
			res.Read(err.Error())

			return res.Texts[0], nil, nil
		}
		res.Read("")

		return res.Texts[0], &action, nil
	}, err
}

// expert returns the UI agent that does what the environment's judge or expert advises.
func (r *Rollouts) expert(specification spec.Spec, env envadapters.Environment, slot domain.Slot) (uiAgent, error) {
	if !episode.CanDemonstrate(env) {
		return nil, episode.NoExpert(specification)
	}
	target, err := r.Wording.Target(specification)
	rng := domain.Rand(slot.Seed, "explore")

	return func(_ context.Context, turn episode.Turn, _ chat.Image) (string, *domain.Action, error) {
		helpful := episode.Helpful(env)
		if len(helpful) == 0 {
			return "", nil, episode.ErrStop
		}
		action := helpful[rng.IntN(len(helpful))]

		return target.Word(action, turn.Observation), &action, nil
	}, err
}

// screenshot keeps the current screen, if the specification keeps screenshots of stage 1 and the environment has them.
func (r *Rollouts) screenshot(ctx context.Context, s spec.Spec, env envadapters.Environment) (chat.Image, error) {
	screenshotter := envadapters.Can(env).Screenshotter
	if screenshotter == nil || !s.Synthesis.Screenshots {
		return chat.Image{}, nil
	}
	png, err := envadapters.Take(ctx, screenshotter)
	if err != nil {
		return chat.Image{}, err
	}
	_, err = store.PutBlob(ctx, r.Bucket, png)

	return chat.NewImage(png), err
}
