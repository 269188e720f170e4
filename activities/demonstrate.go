package activities

import (
	"context"
	"fmt"
	"slices"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/episode"
	"github.com/collabui/collabui/internal/method/prompts"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/method/synth"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
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
func (r *Rollouts) Demonstrate(ctx context.Context, b Batch) (int, error) {
	return do(ctx, r.log(b.Run, "from", b.From, "to", b.To), func(ctx context.Context, say say) (int, error) {
		s, suite, err := r.suite(ctx, b.Run, 0)
		if err != nil {
			return 0, err
		}
		if err := r.sameAs(ctx, s, 0, suite); err != nil {
			return 0, err
		}

		own, err := r.own(ctx, b.Run)
		if err != nil {
			return 0, err
		}

		answers := 0
		record := func(i int, make func() (runs.Demonstration, error)) error {
			demonstration := runs.Run(b.Run).Demonstration(i)
			d, _, err := demonstration.Record(ctx, r.Bucket, func() (runs.Demonstration, error) {
				d, err := make()
				d.By = own.By

				return d, err
			})
			answers += len(d.Pairs)

			return own.check(demonstration.Key, d.By, err)
		}
		play := func(i int) error {
			say(fmt.Sprintf("demonstration %d", i))

			return record(i, func() (out runs.Demonstration, err error) {
				err = playable(s, suite, i, func(slot domain.Slot) error {
					out, err = r.demonstrate(ctx, s, suite, slot)

					return err
				})

				return out, err
			})
		}
		leave := func(i int, why string) error {
			return record(i, func() (runs.Demonstration, error) { return runs.Demonstration{Failed: why}, nil })
		}

		err = r.playAll(ctx, b, s.FailedShare, play, leave)

		return answers, err
	})
}

// demonstrate plays one task as the expert does and writes the pair of every step.
func (r *Rollouts) demonstrate(
	ctx context.Context, s spec.Spec, suite envadapters.Suite, slot domain.Slot,
) (runs.Demonstration, error) {
	out := runs.Demonstration{Slot: slot}
	target, err := r.Wording.target(s)
	if err != nil {
		return out, err
	}

	err = r.in(ctx, s.Name, suite, s.Family(), func(env envadapters.Environment) error {
		if !episode.CanDemonstrate(env) {
			return episode.NoExpert(s)
		}
		rng := domain.Rand(slot.Seed, "demonstration")
		out.Pairs = nil
		player := episode.Player{
			Decide: func(_ context.Context, t episode.Turn) (domain.Action, error) {
				helpful := episode.Helpful(env)
				if len(helpful) == 0 {
					return domain.Action{}, episode.ErrStop
				}
				a := helpful[rng.IntN(len(helpful))]
				text := target.Word(a, t.Observation)
				if err := r.sayable(target, a); err != nil {
					return a, err
				}

				own, peers := target.Messages(rng, text, t.Observation)
				prompt, err := target.Template.User(t.View(), own, peers)
				out.Pairs = append(out.Pairs, domain.Pair{
					Slot: slot.Number, Step: t.Number, Template: slot.Task.Template,
					Prompt: prompt, Chosen: text, Weight: 1, Source: domain.SourceExpert,
				})

				return a, err
			},
			Summarise: summarise(r.Endpoints, s, slot.Seed),
		}
		_, err := player.Play(ctx, env, slot.Task)

		return err
	})

	return out, err
}

// sayable refuses an action that the embedded policy cannot express.
func (r *Rollouts) sayable(target synth.Target, a domain.Action) error {
	if target.Render == nil {
		return nil
	}
	_, err := target.Render(a)

	return fault.As(fault.Invalid, err)
}

// Explore lets the UI agent of stage 1 play training tasks, and records what it saw and did: the source of all levels.
// It returns the number of successes; failed episodes count too.
func (r *Rollouts) Explore(ctx context.Context, b Batch) (int, error) {
	return do(ctx, r.log(b.Run, "from", b.From, "to", b.To), func(ctx context.Context, say say) (int, error) {
		s, suite, err := r.suite(ctx, b.Run, 0)
		if err != nil {
			return 0, err
		}
		if err := r.sameAs(ctx, s, 0, suite); err != nil {
			return 0, err
		}

		own, err := r.own(ctx, b.Run)
		if err != nil {
			return 0, err
		}

		wins := 0
		record := func(i int, make func() (runs.Trajectory, error)) error {
			trajectory := runs.Run(b.Run).Trajectory(i)
			t, _, err := trajectory.Record(ctx, r.Bucket, func() (runs.Trajectory, error) {
				t, err := make()
				t.By = own.By

				return t, err
			})
			if t.Success {
				wins++
			}

			return own.check(trajectory.Key, t.By, err)
		}
		play := func(i int) error {
			say(fmt.Sprintf("trajectory %d", i))

			return record(i, func() (out runs.Trajectory, err error) {
				err = playable(s, suite, i, func(slot domain.Slot) error {
					out, err = r.explore(ctx, s, suite, slot)

					return err
				})

				return out, err
			})
		}
		leave := func(i int, why string) error {
			return record(i, func() (runs.Trajectory, error) { return runs.Trajectory{Failed: why}, nil })
		}

		err = r.playAll(ctx, b, s.FailedShare, play, leave)

		return wins, err
	})
}

// explore plays one task and keeps its screens.
func (r *Rollouts) explore(
	ctx context.Context, s spec.Spec, suite envadapters.Suite, slot domain.Slot,
) (out runs.Trajectory, err error) {
	err = r.in(ctx, s.Name, suite, s.Family(), func(env envadapters.Environment) error {
		agent, err := r.uiAgent(s, env, slot)
		if err != nil {
			return err
		}

		out = runs.Trajectory{Slot: slot}
		var screen synth.Screen
		player := episode.Player{
			Begin: func(_ context.Context, tr envadapters.Transition) error {
				out.Goal = tr.Goal

				return nil
			},
			Decide: func(ctx context.Context, t episode.Turn) (domain.Action, error) {
				screen = synth.Screen{Step: t.Number, History: slices.Clone(t.History), Observation: t.Observation}
				var png []byte
				if png, screen.Image, err = r.screenshot(ctx, s, env); err != nil {
					return domain.Action{}, err
				}
				if screen.Text, screen.Action, err = agent(ctx, t, png); err != nil {
					return domain.Action{}, err
				}
				screen.Right = episode.Right(env)
				if screen.Action == nil {
					return domain.Action{Type: domain.ActionNone}, nil
				}

				return *screen.Action, nil
			},
			After: func(_ context.Context, e episode.Executed) error {
				if len(e.After.Elements) > 0 {
					screen.After = &e.After
				}
				out.Screens = append(out.Screens, screen)

				return nil
			},
			Summarise: summarise(r.Endpoints, s, slot.Seed),
		}
		played, err := player.Play(ctx, env, slot.Task)
		out.Success = played.Outcome.Success

		return err
	})

	return out, err
}

// uiAgent returns the response of the UI agent at a turn, and its action, which is nil if the response does not parse.
// png is the screen, if screenshots are kept.
type uiAgent func(ctx context.Context, t episode.Turn, png []byte) (string, *domain.Action, error)

// uiAgent returns the UI agent of stage 1: the environment's expert, or a chat model that reads the agents' prompt.
func (r *Rollouts) uiAgent(s spec.Spec, env envadapters.Environment, slot domain.Slot) (uiAgent, error) {
	if s.Synthesis.Agent == spec.RoleExpert {
		return r.expert(s, env, slot)
	}

	model, _, err := r.Endpoints.For(s, s.Synthesis.Agent, prompts.Agent)
	if err != nil {
		return nil, err
	}
	template, err := rules.Template(s)
	m := s.Models[s.Synthesis.Agent]

	return func(ctx context.Context, t episode.Turn, png []byte) (string, *domain.Action, error) {
		user, err := template.User(t.View(), "", nil)
		if err != nil {
			return "", nil, err
		}
		q := chat.Request{
			System: template.System(), User: user, Temperature: m.Temperature, TopP: 1,
			Seed: domain.Seed(slot.Seed, "agent", t.Number), N: 1,
		}
		if m.Images && png != nil {
			q.Images = [][]byte{png}
		}
		res, err := model.Complete(ctx, q)
		if fault.KindOf(err) == fault.Refused && t.Number > 1 { // the screens so far are as good as others
			return "", nil, episode.ErrStop
		}
		if err != nil {
			return "", nil, err
		}
		a, err := s.Answers.Answer(res.Texts[0])
		if err != nil {
			res.Read(err.Error())

			return res.Texts[0], nil, nil
		}
		res.Read("")

		return res.Texts[0], &a, nil
	}, err
}

// expert returns the UI agent that does what the environment's judge or expert advises.
func (r *Rollouts) expert(s spec.Spec, env envadapters.Environment, slot domain.Slot) (uiAgent, error) {
	if !episode.CanDemonstrate(env) {
		return nil, episode.NoExpert(s)
	}
	target, err := r.Wording.target(s)
	rng := domain.Rand(slot.Seed, "explore")

	return func(_ context.Context, t episode.Turn, _ []byte) (string, *domain.Action, error) {
		helpful := episode.Helpful(env)
		if len(helpful) == 0 {
			return "", nil, episode.ErrStop
		}
		a := helpful[rng.IntN(len(helpful))]

		return target.Word(a, t.Observation), &a, nil
	}, err
}

// screenshot returns the current screen and its blob's digest, if the specification keeps screenshots and the
// environment has them.
func (r *Rollouts) screenshot(ctx context.Context, s spec.Spec, env envadapters.Environment) ([]byte, string, error) {
	shot := envadapters.Can(env).Screenshotter
	if shot == nil || !s.Synthesis.Screenshots {
		return nil, "", nil
	}
	png, err := envadapters.Take(ctx, shot)
	if err != nil {
		return nil, "", err
	}
	ref, err := store.PutBlob(ctx, r.Bucket, png)

	return png, ref.SHA256, err
}
