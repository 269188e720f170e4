package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/episode"
	"github.com/collabui/collabui/internal/method/prompts"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store"
)

// PreflightID names what is checked before it starts.
type PreflightID struct {
	Specs   []string // digests of blobs with Candidates
	NoProbe bool     `json:",omitempty"` // no model is asked
	Models  []string `json:",omitempty"` // that play as agents, besides those of the roles
}

// Candidate is a specification that is checked. Its blob is removed afterwards, so it is another one every time.
type Candidate struct {
	At   time.Time `json:"at"`
	Spec spec.Spec `json:"spec"`
}

// Obstacle is a reason why a run could not end well.
type Obstacle struct {
	Where   string `json:"where"`             // field of the specification, or the worker that lacks something
	Why     string `json:"why"`               // with what to do
	Warning bool   `json:"warning,omitempty"` // it could not be found out in time, or does no harm yet
}

// preflightTime limits the checks of a worker, except trials of models: a person waits for it.
const preflightTime = 8 * time.Second

// obstacles collects what a worker finds.
type obstacles []Obstacle

// add notes an error. What did not end in time is a warning.
func (o *obstacles) add(ctx context.Context, where string, err error) {
	if err == nil {
		return
	}
	x := Obstacle{Where: where, Why: err.Error()}
	if ctx.Err() != nil {
		x.Why, x.Warning = fmt.Sprintf("not known after %s: %s", preflightTime, x.Why), true
	}
	if !slices.Contains(*o, x) {
		*o = append(*o, x)
	}
}

// preflight lets look examine every specification. What it adds is kept once.
func (c *Common) preflight(
	ctx context.Context, id PreflightID, look func(ctx context.Context, s spec.Spec, o *obstacles),
) ([]Obstacle, error) {
	return do(ctx, c.log(""), func(ctx context.Context, _ say) ([]Obstacle, error) {
		out := obstacles{}
		for _, digest := range id.Specs {
			raw, err := store.GetBlob(ctx, c.Bucket, digest)
			if err != nil {
				return nil, err
			}
			var x Candidate
			if err := json.Unmarshal(raw, &x); err != nil {
				return nil, fault.New(fault.Corrupt, "blob %s is not a specification: %w", digest, err)
			}
			look(ctx, x.Spec, &out)
		}

		return out, nil
	})
}

// CheckPlan checks what a control worker needs: the lists of tasks of all environments, and the agents' prompt.
func (c *Control) CheckPlan(ctx context.Context, id PreflightID) ([]Obstacle, error) {
	return c.preflight(ctx, id, func(ctx context.Context, s spec.Spec, o *obstacles) {
		ctx, cancel := context.WithTimeout(ctx, preflightTime)
		defer cancel()
		o.add(ctx, "environment", c.playable(ctx, s))
		template, err := rules.Template(s)
		if err == nil {
			v := agents.View{Goal: "goal", History: []string{"1 click"}}
			_, err = template.User(v, "said", []agents.Message{{}})
		}
		o.add(ctx, "prompts.agent", err)
	})
}

// CheckPlay checks what a rollout worker needs: that a task of the environment begins here, with the expert and the
// judge that the specification relies on, that actions can be translated, and that the first prompt is not too long for
// trainers and servers.
func (r *Rollouts) CheckPlay(ctx context.Context, id PreflightID) ([]Obstacle, error) {
	seen := map[string]bool{}

	return r.preflight(ctx, id, func(ctx context.Context, s spec.Spec, o *obstacles) {
		seats := []seat{{s.Summariser.Model, prompts.Summariser}}
		if slices.ContainsFunc(s.FineTune.Levels, selfMade(s)) {
			seats = append(seats, seat{s.Synthesis.Agent, prompts.Agent})
		}
		for _, name := range id.Models {
			seats = append(seats, seat{spec.Role(name), prompts.Agent})
		}
		tryModels(ctx, r.Endpoints, s, seats, id.NoProbe, seen, o)

		ctx, cancel := context.WithTimeout(ctx, preflightTime)
		defer cancel()
		for _, x := range s.Evaluation.OutOfDistribution {
			suite, err := r.Suites.get(ctx, s.Where(x.Environment))
			if err == nil {
				err = usable(ctx, suite)
			}
			o.add(ctx, "environments."+x.Environment, err)
		}
		o.add(ctx, "environment", r.begins(ctx, s, id.NoProbe, o))
	})
}

// usable returns why a suite cannot be used here now.
func usable(ctx context.Context, suite envadapters.Suite) error {
	if x, ok := suite.(envadapters.Rehearsed); ok {
		if err := x.Rehearse(); err != nil {
			return err
		}
	}
	if h := suite.Check(ctx); h.State == envadapters.Dead {
		return fault.New(fault.Invalid, "%s: %s", h.Detail, h.Fix)
	}

	return nil
}

// begins begins the first training task. Quiet asks no server of a model.
func (r *Rollouts) begins(ctx context.Context, s spec.Spec, quiet bool, o *obstacles) error {
	suite, err := r.Suites.get(ctx, s.Where(s.Environment))
	if err != nil {
		return err
	}
	if err := usable(ctx, suite); err != nil {
		return err
	}
	slot, err := rules.Slot(s, suite, 0, 1, 0)
	if err != nil {
		return err
	}
	env, err := suite.Open(ctx)
	if err != nil {
		return err
	}
	defer env.Close(context.WithoutCancel(ctx))
	spoken := envadapters.Speaking(env, suite.Family(), s.Family())
	tr, err := spoken.Reset(ctx, slot.Task)
	if err != nil {
		return err
	}

	o.add(ctx, "critic.model", episode.CheckJudge(s, spoken))
	if demonstrates(s) && !episode.CanDemonstrate(spoken) {
		o.add(ctx, "synthesis.agent", episode.NoExpert(s))
	}
	r.fits(ctx, s, agents.View{Goal: tr.Goal, Observation: tr.Observation}, quiet, o)

	return nil
}

// demonstrates reports whether stage 1 needs an expert.
func demonstrates(s spec.Spec) bool {
	if len(s.FineTune.Levels) == 0 {
		return s.FineTune.Base == ""
	}

	return s.Synthesis.Agent == spec.RoleExpert && slices.ContainsFunc(s.FineTune.Levels, selfMade(s))
}

// selfMade returns which levels of stage 1 the run makes itself, of what its UI agent does.
func selfMade(s spec.Spec) func(level int) bool {
	return func(level int) bool { return s.FineTune.Data.Of(level) == "" }
}

// CheckModels checks the models that grade, propose and write: their keys are here, and they answer as their roles need
// it.
func (m *Models) CheckModels(ctx context.Context, id PreflightID) ([]Obstacle, error) {
	seen := map[string]bool{}

	return m.preflight(ctx, id, func(ctx context.Context, s spec.Spec, o *obstacles) {
		seats := []seat{{s.Critic.Model, prompts.Critic}, {s.Adversary.Model, prompts.Adversary}}
		for _, level := range s.FineTune.Levels {
			if role, ok := authors[level]; ok && selfMade(s)(level) {
				seats = append(seats, seat{s.Synthesis.Author, role})
			}
		}
		tryModels(ctx, m.Endpoints, s, seats, id.NoProbe, seen, o)
	})
}

// CheckTraining checks what a GPU worker needs: the trainer with its program and base model, and enough policy servers.
func (g *GPU) CheckTraining(ctx context.Context, id PreflightID) ([]Obstacle, error) {
	return g.preflight(ctx, id, func(ctx context.Context, s spec.Spec, o *obstacles) {
		ctx, cancel := context.WithTimeout(ctx, preflightTime)
		defer cancel()
		t, err := g.trainer(s)
		if ready, ok := t.(interface{ Ready(json.RawMessage) error }); ok {
			err = errors.Join(err, ready.Ready(s.Trainer.Options))
		}
		o.add(ctx, "trainer", err)
		if g.Ready != nil {
			o.add(ctx, "serving.quorum", g.Ready(ctx, s.Serving.Quorum))
		}
	})
}
