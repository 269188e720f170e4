package activities

import (
	"context"
	"fmt"

	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/rules"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/prompts"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
)

// Explore lets the UI agent of stage 1 play training tasks and records what it saw and did: the source of all levels. Failed episodes count too.
func (r *Rollouts) Explore(ctx context.Context, b Batch) (int, error) {
	say, stop := heartbeat(ctx)
	defer stop()
	s, suite, err := r.where(ctx, b.Run)
	if err != nil {
		return done(0, err)
	}
	wins := 0
	for i := b.From; i < b.To; i++ {
		say(fmt.Sprintf("trajectory %d", i))
		t, _, err := runs.Run(b.Run).Trajectory(i).Record(ctx, r.Bucket, func() (out runs.Trajectory, err error) {
			slot, err := rules.Slot(s, suite, 0, i+1, 0)
			if err == nil {
				err = inEnvironment(ctx, suite, s.Family(), func(env envadapters.Environment) (err error) {
					agent, err := r.agent(s, env, slot)
					if err == nil {
						out, err = r.play(ctx, s, env, slot, agent)
					}
					return err
				})
			}
			return out, err
		})
		if err != nil {
			return done(wins, err)
		}
		if t.Success {
			wins++
		}
	}
	return done(wins, nil)
}

// uiAgent says what is done at step n, and its response; png is the screen, where screenshots are kept. An action of nil did not parse.
type uiAgent func(ctx context.Context, v agents.View, png []byte, n int) (string, *domain.Action, error)

// agent is the UI agent of stage 1: the environment's expert, or a chat model that reads the agents' prompt.
func (r *Rollouts) agent(s spec.Spec, env envadapters.Environment, slot domain.Slot) (uiAgent, error) {
	if s.Synthesis.Agent == spec.RoleExpert {
		if !demonstrates(env) {
			return nil, errNoExpert(s)
		}
		pol, err := r.policy(s)
		if err != nil {
			return nil, err
		}
		rng := domain.Rand(slot.Seed, "explore")
		return func(context.Context, agents.View, []byte, int) (string, *domain.Action, error) {
			right := helpful(env)
			if len(right) == 0 {
				return "", nil, errEnough
			}
			a := right[rng.IntN(len(right))]
			return pol.Word(a), &a, nil
		}, nil
	}
	model, _, err := r.endpoint(s, s.Synthesis.Agent, prompts.Agent)
	if err != nil {
		return nil, err
	}
	tmpl, err := rules.Template(s)
	if err != nil {
		return nil, err
	}
	m := s.Models[s.Synthesis.Agent]
	return func(ctx context.Context, v agents.View, png []byte, n int) (string, *domain.Action, error) {
		user, err := tmpl.User(v, "", nil)
		if err != nil {
			return "", nil, err
		}
		q := chat.Request{System: tmpl.System(), User: user, Temperature: m.Temperature, TopP: 1, Seed: domain.Seed(slot.Seed, "agent", n), N: 1}
		if m.Images && png != nil {
			q.Images = [][]byte{png}
		}
		res, err := model.Complete(ctx, q)
		if err != nil {
			return "", nil, err
		}
		a, err := agents.ParseAnswer(res.Texts[0])
		if err != nil {
			return res.Texts[0], nil, nil
		}
		return res.Texts[0], &a, nil
	}, nil
}

// screenshot gives the current screen and its blob's digest, where the specification keeps screenshots and the environment has them.
func (r *Rollouts) screenshot(ctx context.Context, s spec.Spec, env envadapters.Environment) ([]byte, string, error) {
	shot := envadapters.Can(env).Screenshotter
	if shot == nil || !s.Synthesis.Screenshots {
		return nil, "", nil
	}
	png, err := shot.Screenshot(ctx)
	if err != nil {
		return nil, "", err
	}
	ref, err := store.PutBlob(ctx, r.Bucket, png)
	return png, ref.SHA256, err
}

// remember gives the history behind a step: the recorded one where the environment gives it, else one line more.
func (d *Deps) remember(ctx context.Context, s spec.Spec, seed uint64, n int, goal string, history []string, a domain.Action, before domain.Observation, tr envadapters.Transition) ([]string, error) {
	if tr.History != nil {
		return tr.History, nil
	}
	line, err := d.summarise(ctx, s, seed, n, goal, a, before, tr)
	return append(history, line), err
}

// summarise gives the history's line of a step: by fixed rules, or by a model.
func (d *Deps) summarise(ctx context.Context, s spec.Spec, seed uint64, n int, goal string, a domain.Action, before domain.Observation, tr envadapters.Transition) (string, error) {
	line := agents.Summarise(n, a, before, tr.Invalid)
	if s.Summariser.Model == spec.RoleTemplate {
		return line, nil
	}
	model, p, err := d.endpoint(s, s.Summariser.Model, prompts.Summariser)
	if err != nil {
		return "", err
	}
	return agents.ModelSummary(ctx, model, p, agents.Happened{Step: n, Goal: goal, Line: line, Before: before, After: tr.Observation, Invalid: tr.Invalid}, domain.Seed(seed, "summary", n))
}
