package openenv

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
)

// environment plays episodes in one session.
type environment struct {
	Episode
	suite *Suite
	place *place // nil after Close
	conn  *Conn
	desc  Description

	last   Observation
	reward float64 // the last reward that the server gave
	score  envadapters.Score
	right  []domain.Action // the actions that help now; agents never see them
}

// seedLimit bounds the seeds for a server without the profile.
const seedLimit = 1 << 31

// Reset begins the episode of a task that the server lists.
func (e *environment) Reset(ctx context.Context, task domain.Task) (envadapters.Transition, error) {
	if ctx.Err() != nil {
		return envadapters.Transition{}, context.Cause(ctx)
	}

	known := func(x Task) bool { return x.Name == task.Template && x.Split == task.Split }
	if !slices.ContainsFunc(e.desc.Tasks, known) {
		return envadapters.Transition{}, fault.New(fault.Invalid, "%w: %s has no task %q in split %q",
			envadapters.ErrTask, e.suite.Title(), task.Template, task.Split)
	}

	e.Begin(task)
	e.reward = 0
	e.score = envadapters.Score{}

	def := any(resetData{
		Task:     task.Template,
		Split:    task.Split,
		Seed:     task.Seed,
		MaxSteps: task.MaxSteps,
		Right:    e.can(CapJudge) || e.can(CapExpert),
	})
	if e.suite.mapping.foreign() {
		def = map[string]any{"seed": task.Seed % seedLimit}
	}
	data, err := render("reset", e.suite.mapping.reset, task, def)
	if err != nil {
		return envadapters.Transition{}, err
	}

	tr, err := e.call(ctx, FrameReset, data)
	if err != nil {
		return tr, taskFault(err)
	}

	e.Start()
	tr.Goal = e.last.Goal
	if tr.Goal == "" {
		tr.Goal = task.Template
	}

	return tr, nil
}

// taskFault returns the error of a call, with ErrTask in its chain if the task itself is at fault.
func taskFault(err error) error {
	if CodeOf(err) == CodeUnknownTask {
		return fault.New(fault.Invalid, "%w: %w", envadapters.ErrTask, err)
	}

	return err
}

// Step sends one action. If the server rejects it as invalid, it is a mistake of the agent.
func (e *environment) Step(ctx context.Context, action domain.Action) (envadapters.Transition, error) {
	if err := e.BeginStep(ctx); err != nil {
		return envadapters.Transition{}, err
	}

	all := domain.Observation{Elements: e.last.Elements}
	el, found := action.Named(all)
	if names := action.Index != nil || action.Element != ""; e.suite.mapping.foreign() && names && !found {
		return e.refused("no element has this name: " + action.JSON()), nil
	}

	data, err := render("action", e.suite.mapping.action, Act{Action: action, ID: el.ID, Said: el.Text}, action)
	if err != nil {
		return envadapters.Transition{}, err
	}

	tr, err := e.call(ctx, FrameStep, data)
	if refusal, ok := refusalIn(err); ok && refusal.Code == CodeValidation {
		return e.refused(refusal.Message), nil
	}

	return tr, taskFault(err)
}

// refused returns the transition of a step that the server rejected because of the agent's mistake. Nothing has
// changed, but the step counts.
func (e *environment) refused(why string) envadapters.Transition {
	tr := envadapters.Transition{Observation: e.seen(), Invalid: why}
	e.Observe(&tr, false, false)

	return tr
}

// call performs a reset or a step and reads the resulting transition.
func (e *environment) call(ctx context.Context, kind FrameType, data any) (envadapters.Transition, error) {
	var got answer
	if err := e.conn.Call(ctx, kind, data, &got); err != nil {
		return envadapters.Transition{}, err
	}

	observation, err := e.suite.read(got.Observation)
	if err != nil {
		return envadapters.Transition{}, fault.New(fault.Void, "%s: %w", kind, err)
	}
	e.last = observation

	var reward any
	_ = json.Unmarshal(got.Reward, &reward) // the reward is optional
	if r, ok := number(reward); ok {
		e.reward = r
	}

	tr := envadapters.Transition{Observation: e.seen()}
	if observation.HasHist {
		tr.History = append([]string{}, observation.History...)
	}
	if observation.Error != nil {
		tr.Invalid = observation.Error.Message
		if tr.Invalid == "" {
			tr.Invalid = string(observation.Error.Code)
		}
	}

	e.right = observation.Right
	if !e.Observe(&tr, got.Done, observation.Truncated) {
		return tr, nil
	}

	e.right = nil
	e.score = e.finished(observation)
	if e.score.Success {
		tr.Reward = 1
	}

	return tr, nil
}

// finished returns the score after the last step.
func (e *environment) finished(observation Observation) envadapters.Score {
	score := envadapters.Score{Raw: e.reward, Metrics: observation.Metrics}
	if observation.Score != nil {
		score.Raw = *observation.Score
	}

	least := e.suite.mapping.Success
	if least == 0 {
		least = 1
	}
	score.Success = score.Raw >= least
	if observation.Success != nil {
		score.Success = *observation.Success
	}

	if observation.Info.Raw != nil {
		score.Raw = *observation.Info.Raw
	}

	return score
}

func (e *environment) can(capability Capability) bool {
	return slices.Contains(e.desc.Capabilities, capability)
}

// Abilities returns the abilities that the server offers.
func (e *environment) Abilities() envadapters.Abilities {
	a := envadapters.Abilities{Replayable: e.can(CapReplayable)}
	if e.can(CapExpert) {
		a.Expert = e
	}
	if e.can(CapJudge) {
		a.Judge = e
	}
	if e.can(CapScreenshot) {
		a.Screenshotter = e
	}

	return a
}

// Advise returns the first action of Right.
func (e *environment) Advise() (domain.Action, bool) {
	if len(e.right) == 0 {
		return domain.Action{}, false
	}

	return e.right[0], true
}

// Right returns the actions that help now, according to the server.
func (e *environment) Right() []domain.Action { return e.right }

// Screenshot requests the current screen as PNG.
func (e *environment) Screenshot(ctx context.Context) ([]byte, error) {
	var s stateAnswer
	if err := e.conn.Call(ctx, FrameState, stateData{Image: "png"}, &s); err != nil {
		return nil, err
	}

	return s.Image.B64, nil
}

// Score returns the score after the end of the episode, and zero before.
func (e *environment) Score(context.Context) (envadapters.Score, error) { return e.score, nil }

// Close ends the session and frees the place. It may be repeated.
func (e *environment) Close(context.Context) {
	if e.place != nil {
		e.conn.Close()
		e.suite.free <- e.place
		e.place = nil
	}
}

func (e *environment) seen() domain.Observation { return e.last.Seen(e.suite.Family()) }
