package preflight

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/collabui/collabui/activities/lifecycle"
	"github.com/collabui/collabui/activities/play"
	"github.com/collabui/collabui/activities/stage1"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/episode"
	"github.com/collabui/collabui/internal/method/prompts"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
)

// CheckPlan checks what a control worker needs: the lists of tasks of all environments, and the agents' prompt.
func (c *Control) CheckPlan(ctx context.Context, id ID) ([]Obstacle, error) {
	return examine(ctx, c.Common, id, func(ctx context.Context, specification spec.Spec, o *obstacles) {
		ctx, cancel := context.WithTimeout(ctx, preflightTime)
		defer cancel()
		o.add(ctx, "environment", lifecycle.CheckPlayable(ctx, c.Common, c.Suites, specification))
		template, err := rules.Template(specification)
		if err == nil {
			view := agents.View{Goal: "goal", History: []string{"1 click"}}
			_, err = template.User(view, "said", []agents.Message{{}})
		}
		o.add(ctx, "prompts.agent", err)
	})
}

// CheckPlay checks what a rollout worker needs: that a task of the environment begins here, with the expert and the
// judge that the specification relies on, that actions can be translated, and that the first prompt is not too long for
// trainers and servers.
func (r *Rollouts) CheckPlay(ctx context.Context, id ID) ([]Obstacle, error) {
	models := trials{endpoints: r.Endpoints, quiet: id.NoProbe, seen: map[string]bool{}}

	return examine(ctx, r.Common, id, func(ctx context.Context, specification spec.Spec, o *obstacles) {
		seats := []seat{{specification.Summariser.Model, prompts.Summariser}}
		if slices.ContainsFunc(specification.FineTune.Levels, makesLevel(specification)) {
			seats = append(seats, seat{specification.Synthesis.Agent, prompts.Agent})
		}
		for _, name := range id.Models {
			seats = append(seats, seat{spec.Role(name), prompts.Agent})
		}
		models.tryModels(ctx, specification, seats, o)

		ctx, cancel := context.WithTimeout(ctx, preflightTime)
		defer cancel()
		for _, other := range specification.Evaluation.OutOfDistribution {
			suite, err := r.Suites.Get(ctx, specification.Where(other.Environment))
			if err == nil {
				err = checkUsable(ctx, suite)
			}
			if err == nil && specification.Observation.Pictured() {
				err = checkPictured(ctx, suite, specification.Family())
			}
			o.add(ctx, "environments."+other.Environment, err)
		}
		o.add(ctx, "environment", r.beginTask(ctx, specification, id.NoProbe, o))
	})
}

// checkUsable returns why a suite cannot be used here now. A retry may find its server started.
func checkUsable(ctx context.Context, suite envadapters.Suite) error {
	if rehearsed, ok := suite.(envadapters.Rehearsed); ok {
		if err := rehearsed.Rehearse(); err != nil {
			return err
		}
	}
	if health := suite.Check(ctx); health.State == envadapters.Dead {
		return fault.New(fault.Transient, "%s: %s", health.Detail, health.Fix)
	}

	return nil
}

// checkPictured returns an error if the environments of a suite have no screenshots.
func checkPictured(ctx context.Context, suite envadapters.Suite, family domain.Family) error {
	env, err := suite.Open(ctx)
	if err != nil {
		return err
	}
	defer env.Close(context.WithoutCancel(ctx))
	if envadapters.Can(envadapters.Speaking(env, suite.Family(), family)).Screenshotter == nil {
		return play.NoScreenshots()
	}

	return nil
}

// beginTask begins the first training task. If quiet, it calls no server of a model.
func (r *Rollouts) beginTask(ctx context.Context, specification spec.Spec, quiet bool, o *obstacles) error {
	suite, err := r.Suites.Get(ctx, specification.Where(specification.Environment))
	if err != nil {
		return err
	}
	if err := checkUsable(ctx, suite); err != nil {
		return err
	}
	slot, err := rules.Slot(specification, suite, 0, 1, 0)
	if err != nil {
		return err
	}
	env, err := suite.Open(ctx)
	if err != nil {
		return err
	}
	defer env.Close(context.WithoutCancel(ctx))
	spoken := envadapters.Speaking(env, suite.Family(), specification.Family())
	first, err := spoken.Reset(ctx, slot.Task)
	if err != nil {
		return err
	}

	o.add(ctx, "critic.model", episode.CheckJudge(specification, spoken))
	if needsExpert(specification) && !episode.CanDemonstrate(spoken) {
		o.add(ctx, "synthesis.agent", episode.NoExpert(specification))
	}
	if specification.Observation.Pictured() && envadapters.Can(spoken).Screenshotter == nil {
		o.add(ctx, "observation.kind", play.NoScreenshots())
	}
	r.checkLength(ctx, specification, agents.View{Goal: first.Goal, Observation: first.Observation}, quiet, o)

	return nil
}

// needsExpert reports whether stage 1 needs an expert.
func needsExpert(given spec.Spec) bool {
	if len(given.FineTune.Levels) == 0 {
		return given.FineTune.Base == ""
	}

	return given.Synthesis.Agent == spec.RoleExpert && slices.ContainsFunc(given.FineTune.Levels, makesLevel(given))
}

// makesLevel returns which levels of stage 1 the run makes itself, from the actions of its UI agent.
func makesLevel(specification spec.Spec) func(level int) bool {
	return func(level int) bool { return specification.FineTune.Data.Of(level) == "" }
}

// CheckModels checks the models that grade, propose and write: their keys are here, and their answers are of use in
// their roles.
func (m *Models) CheckModels(ctx context.Context, id ID) ([]Obstacle, error) {
	models := trials{endpoints: m.Endpoints, quiet: id.NoProbe, seen: map[string]bool{}}

	return examine(ctx, m.Common, id, func(ctx context.Context, given spec.Spec, o *obstacles) {
		seats := []seat{{given.Critic.Model, prompts.Critic}, {given.Adversary.Model, prompts.Adversary}}
		for _, level := range given.FineTune.Levels {
			if role, ok := stage1.AuthorRoles[level]; ok && makesLevel(given)(level) {
				seats = append(seats, seat{given.Synthesis.Author, role})
			}
		}
		models.tryModels(ctx, given, seats, o)
	})
}

// CheckTraining checks what a GPU worker needs: the trainer with its program and base model, and enough policy servers.
func (g *GPU) CheckTraining(ctx context.Context, id ID) ([]Obstacle, error) {
	return examine(ctx, g.Common, id, func(ctx context.Context, specification spec.Spec, o *obstacles) {
		ctx, cancel := context.WithTimeout(ctx, preflightTime)
		defer cancel()
		found, err := g.Jobs.Trainer(specification)
		checked, ok := found.(interface{ Ready(json.RawMessage) error })
		if err == nil && ok {
			err = checked.Ready(specification.Trainer.Options)
		}
		o.add(ctx, "trainer", err)
		if g.Ready != nil {
			o.add(ctx, "serving.quorum", g.Ready(ctx, specification.Serving.Quorum))
		}
	})
}
