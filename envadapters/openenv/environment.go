package openenv

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
)

// environment plays episodes in one session.
type environment struct {
	suite *Suite
	place *place
	conn  *Conn
	desc  Description

	task    domain.Task
	goal    string
	last    Observation
	steps   int
	playing bool
	ended   bool
	reward  float64
	score   envadapters.Score
	right   []domain.Action
}

// resetData is the data of the profile's reset.
type resetData struct {
	Task     string `json:"task"`
	Split    string `json:"split"`
	Seed     uint64 `json:"seed"`
	MaxSteps int    `json:"max_steps"`
}

func (e *environment) Reset(ctx context.Context, t domain.Task) (envadapters.Transition, error) {
	if ctx.Err() != nil {
		return envadapters.Transition{}, context.Cause(ctx)
	}
	if !slices.ContainsFunc(e.desc.Tasks, func(x Task) bool { return x.Name == t.Template && x.Split == t.Split }) {
		return envadapters.Transition{}, fault.New(fault.Invalid, "%w: %s has no task %q in split %q", envadapters.ErrTask, e.suite.Title(), t.Template, t.Split)
	}
	e.task, e.steps, e.playing, e.ended, e.reward, e.score = t, 0, false, false, 0, envadapters.Score{}
	def := any(resetData{t.Template, t.Split, t.Seed, t.MaxSteps})
	if e.suite.mapping.foreign() {
		def = map[string]any{"seed": t.Seed % (1 << 31)}
	}
	data, err := render(e.suite.mapping.reset, t, def)
	if err != nil {
		return envadapters.Transition{}, err
	}
	tr, err := e.call(ctx, "reset", data)
	if CodeOf(err) == CodeUnknownTask {
		err = fault.New(fault.Invalid, "%w: %w", envadapters.ErrTask, err)
	}
	if err != nil {
		return tr, err
	}
	e.playing, e.goal = true, e.last.Goal
	if e.goal == "" {
		e.goal = t.Template
	}
	tr.Goal = e.goal
	return tr, nil
}

func (e *environment) Step(ctx context.Context, a domain.Action) (envadapters.Transition, error) {
	if !e.playing || e.ended {
		return envadapters.Transition{}, fault.New(fault.Fatal, "step outside of an episode")
	}
	if ctx.Err() != nil {
		return envadapters.Transition{}, context.Cause(ctx)
	}
	e.steps++
	act := Act{Action: a}
	all := domain.Observation{Elements: e.last.Elements}
	el, named := a.Named(all)
	if act.ID, act.Said = el.ID, el.Text; e.suite.mapping.foreign() && (a.Index != nil || a.Element != "") && !named {
		return e.refused("no element has this name: " + a.JSON()), nil
	}
	data, err := render(e.suite.mapping.action, act, a)
	if err != nil {
		return envadapters.Transition{}, err
	}
	tr, err := e.call(ctx, "step", data)
	if refusal := (*Error)(nil); errors.As(err, &refusal) && refusal.Code == CodeValidation {
		return e.refused(refusal.Message), nil
	}
	return tr, err
}

// refused is a step that the server did not take, by the agent's fault: nothing has changed, and it counts.
func (e *environment) refused(why string) envadapters.Transition {
	e.ended = e.steps >= e.task.MaxSteps
	return envadapters.Transition{Observation: e.seen(), Invalid: why, Truncated: e.ended}
}

// call makes a reset or a step and reads what it led to.
func (e *environment) call(ctx context.Context, kind string, data any) (envadapters.Transition, error) {
	var got answer
	var tr envadapters.Transition
	if err := e.conn.Call(ctx, kind, data, &got); err != nil {
		return tr, err
	}
	o, err := e.suite.read(got.Observation)
	if err != nil {
		return tr, fault.New(fault.Void, "%s: %w", kind, err)
	}
	var reward any
	_ = json.Unmarshal(got.Reward, &reward) // absent is none
	if r, ok := number(reward); ok {
		e.reward = r
	}
	e.last = o
	tr = envadapters.Transition{Observation: e.seen()}
	if o.HasHist {
		tr.History = append([]string{}, o.History...)
	}
	if o.Error != nil {
		tr.Invalid = o.Error.Message
		if tr.Invalid == "" {
			tr.Invalid = o.Error.Code
		}
	}
	tr.Truncated = o.Truncated || !got.Done && e.steps >= e.task.MaxSteps
	tr.Terminated = got.Done && !tr.Truncated
	e.ended = tr.Terminated || tr.Truncated
	if e.ended {
		e.score = e.finished(o)
		if e.score.Success {
			tr.Reward = 1
		}
	}
	return tr, e.help(ctx)
}

// finished is the score behind the last step.
func (e *environment) finished(o Observation) envadapters.Score {
	s := envadapters.Score{Raw: e.reward, Metrics: o.Metrics}
	if o.Score != nil {
		s.Raw = *o.Score
	}
	least := e.suite.mapping.Success
	if least == 0 {
		least = 1
	}
	s.Success = s.Raw >= least
	if o.Success != nil {
		s.Success = *o.Success
	}
	if o.Info.Raw != nil {
		s.Raw = *o.Info.Raw
	}
	return s
}

// help asks what helps now, where the server knows.
func (e *environment) help(ctx context.Context) error {
	e.right = nil
	if e.ended || !e.can(CapExpert) && !e.can(CapJudge) {
		return nil
	}
	var t told
	err := e.conn.Call(ctx, "state", ask{Right: true}, &t)
	e.right = t.Right
	return err
}

func (e *environment) can(capability string) bool {
	return slices.Contains(e.desc.Capabilities, capability)
}

// Abilities are what the server offers.
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

func (e *environment) Advise() (domain.Action, bool) {
	if len(e.right) == 0 {
		return domain.Action{}, false
	}
	return e.right[0], true
}

func (e *environment) Right() []domain.Action { return e.right }

func (e *environment) Screenshot(ctx context.Context) ([]byte, error) {
	var t told
	if err := e.conn.Call(ctx, "state", ask{Image: "png"}, &t); err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(t.Image.B64, []byte("\x89PNG")) {
		return nil, fault.New(fault.Void, "the server's screenshot is no PNG")
	}
	return t.Image.B64, nil
}

// Score is known behind the end; before it nothing is reached.
func (e *environment) Score(context.Context) (envadapters.Score, error) { return e.score, nil }

func (e *environment) Close(context.Context) {
	if e.place != nil {
		e.conn.Close()
		e.suite.free <- e.place
		e.place = nil
	}
}

// Seen is the observation as agents of a family see it: elements of a mobile suite are named by their indices alone.
func (o Observation) Seen(f domain.Family) domain.Observation {
	out := domain.Observation{Width: o.Screen.W, Height: o.Screen.H, Elements: slices.Clone(o.Elements)}
	for i := range out.Elements {
		if f == domain.FamilyMobile {
			out.Elements[i].ID = ""
		}
	}
	return out
}

func (e *environment) seen() domain.Observation { return e.last.Seen(e.suite.Family()) }

// Checked bounds an observation and refuses what no contract allows.
func (o Observation) Checked() (Observation, error) {
	if len(o.Elements) > maxElements {
		o.Elements = o.Elements[:maxElements]
	}
	last := -1
	for i := range o.Elements {
		e := &o.Elements[i]
		if e.Index <= last {
			return o, errors.New("the server's elements are not in the order of their indices")
		}
		last = e.Index
		for _, s := range []*string{&e.Text, &e.Desc, &e.Value, &e.Role, &e.ID} {
			if len(*s) > maxElementText {
				*s = strings.ToValidUTF8((*s)[:maxElementText], "")
			}
		}
	}
	return o, nil
}
