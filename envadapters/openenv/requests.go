package openenv

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
)

func (x *session) reset(ctx context.Context, raw json.RawMessage) (any, error) {
	var r struct {
		resetData
		Episode string `json:"episode_id"` // the clients of OpenEnv send one
	}

	if err := decode(raw, &r); err != nil {
		return nil, err
	}

	task, err := x.find(r.resetData)
	if err != nil {
		return nil, err
	}

	if err := x.open(ctx); err != nil {
		return nil, err
	}

	x.task = task
	x.steps = 0
	x.over = false
	x.right = r.Right
	tr, err := x.env.Reset(ctx, task)
	x.goal = tr.Goal

	return x.observe(ctx, tr, err)
}

// find returns the first task that matches a reset. It chooses a task, split or budget that the reset leaves out.
func (x *session) find(data resetData) (domain.Task, error) {
	for _, t := range x.desc.Tasks {
		if data.Task != "" && (t.Name != data.Task || data.Split != "" && t.Split != data.Split) {
			continue
		}

		steps := data.MaxSteps
		if steps == 0 {
			steps = t.MaxSteps
		}
		if steps < 1 {
			return domain.Task{}, refuse(CodeValidation, "max_steps must be at least 1, not %d", steps)
		}

		return domain.Task{Suite: x.desc.Suite, Template: t.Name, Split: t.Split, Seed: data.Seed, MaxSteps: steps}, nil
	}

	return domain.Task{}, refuse(CodeUnknownTask, "no task %q in split %q", data.Task, data.Split)
}

// open opens an environment unless the session has one.
func (x *session) open(ctx context.Context) error {
	if x.env != nil {
		return nil
	}

	wait, cancel := context.WithTimeout(ctx, openLimit)
	defer cancel()

	env, err := x.suite.Open(wait)
	if err == nil {
		x.env = env
	} else if wait.Err() != nil {
		return refuse(CodeCapacity, "no place within %v", openLimit)
	}

	return err
}

// broken closes the environment, whose state is unknown.
func (x *session) broken() {
	x.env.Close(context.Background())
	x.env = nil
}

func (x *session) step(ctx context.Context, raw json.RawMessage) (any, error) {
	if x.env == nil || x.over {
		return nil, refuse(CodeSession, "there is no episode: send a reset first")
	}

	var action domain.Action
	if err := json.Unmarshal(raw, &action); err != nil {
		return nil, refuse(CodeValidation, "%v", err)
	}

	if action.Type != domain.ActionNone { // the no-op belongs to both families
		if err := action.Validate(); err != nil {
			return nil, refuse(CodeValidation, "%v", err)
		}
		_, recorded := x.suite.(envadapters.Recorded) // a recorded suite counts it as a wrong answer
		if !recorded && !action.InFamily(x.suite.Family()) {
			return nil, refuse(CodeValidation, "this environment takes %s actions", x.suite.Family())
		}
	}

	tr, err := x.env.Step(ctx, action)
	x.steps++

	return x.observe(ctx, tr, err)
}

func (x *session) observe(ctx context.Context, tr envadapters.Transition, err error) (any, error) {
	if errors.Is(err, envadapters.ErrTask) {
		x.broken()
		return nil, refuse(CodeUnknownTask, "%v", err)
	}
	if err != nil {
		x.broken()
		return nil, refuse(CodeExecution, "%v", err)
	}

	observation := Observation{
		Goal:      x.goal,
		Elements:  tr.Observation.Elements,
		Screen:    Screen{W: tr.Observation.Width, H: tr.Observation.Height},
		History:   tr.History,
		HasHist:   tr.History != nil,
		MaxSteps:  x.task.MaxSteps,
		Truncated: tr.Truncated,
	}

	if tr.Invalid != "" {
		observation.Error = &Error{Code: CodeInvalidAction, Message: tr.Invalid}
	}

	x.over = tr.Terminated || tr.Truncated
	if x.right && !x.over {
		observation.Right = right(envadapters.Can(x.env), tr.Observation)
	}
	if x.over {
		s, err := x.env.Score(ctx)
		if err != nil {
			x.broken()
			return nil, refuse(CodeExecution, "%v", err)
		}
		score := 0.0
		if s.Success {
			score = 1
		}
		observation.Score = &score
		observation.Success = &s.Success
		observation.Info.Raw = &s.Raw
		observation.Metrics = s.Metrics
	}

	return map[string]any{"observation": observation, "reward": tr.Reward, "done": x.over}, nil
}

func (x *session) state(ctx context.Context, raw json.RawMessage) (any, error) {
	var data stateData
	if err := decode(raw, &data); err != nil {
		return nil, err
	}

	if data.Image == "" {
		return struct {
			Description
			Step int `json:"step_count"`
		}{x.desc, x.steps}, nil
	}

	if x.env == nil {
		return nil, refuse(CodeSession, "there is no episode: send a reset first")
	}

	can := envadapters.Can(x.env)
	if can.Screenshotter == nil || data.Image != "png" {
		return nil, refuse(CodeValidation, "no image of kind %q here", data.Image)
	}

	png, err := envadapters.Take(ctx, can.Screenshotter)
	if err != nil {
		x.broken()
		return nil, refuse(CodeExecution, "%v", err)
	}

	return map[string]any{"image": map[string]any{"mime": "image/png", "b64": png}}, nil
}

// right returns the actions that help now: the judge's, beginning with the expert's, or the expert's alone if there is
// no judge.
func right(can envadapters.Abilities, observation domain.Observation) []domain.Action {
	var judged []domain.Action
	if can.Judge != nil {
		judged = slices.Clone(can.Judge.Right())
	}
	if can.Expert == nil {
		return judged
	}

	action, ok := can.Expert.Advise()
	if !ok {
		return judged
	}
	if can.Judge == nil {
		return []domain.Action{action}
	}

	same := func(b domain.Action) bool { return action.Canonical(observation) == b.Canonical(observation) }
	if i := slices.IndexFunc(judged, same); i >= 0 {
		return slices.Insert(slices.Delete(judged, i, i+1), 0, action)
	}

	return judged
}
