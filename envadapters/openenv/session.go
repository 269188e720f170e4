package openenv

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/coder/websocket"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
)

// session is one connection.
type session struct {
	suite envadapters.Suite
	desc  Description
	ws    *websocket.Conn
	env   envadapters.Environment // It is nil between a broken episode and the next reset.
	task  domain.Task
	goal  string
	steps int
	over  bool
}

func (x *session) end() {
	if x.env != nil {
		x.broken()
	}

	_ = x.ws.CloseNow()
}

// errClose ends a session.
var errClose = errors.New("the session ends")

func (x *session) serve(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	frames := make(chan []byte)
	go func() {
		defer cancel()
		x.read(ctx, frames)
	}()

	for {
		select {
		case raw := <-frames:
			if !x.serveOne(ctx, raw) {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// read reads frames until the session ends. It reads while a call runs, so a lost connection ends the call and pings
// are answered.
func (x *session) read(ctx context.Context, frames chan<- []byte) {
	for {
		wait, stop := context.WithTimeout(ctx, idleLimit)
		kind, raw, err := x.ws.Read(wait)
		stop()
		if err != nil || kind != websocket.MessageText {
			return
		}

		select {
		case frames <- raw:
		case <-ctx.Done():
			return
		}
	}
}

// serveOne answers a frame. It reports whether the session continues.
func (x *session) serveOne(ctx context.Context, raw []byte) bool {
	kind, data, err := x.handle(ctx, raw)
	if errors.Is(err, errClose) {
		x.end() // Before the socket closes, so the place is free when the client notices.
		return false
	}

	if err != nil {
		refusal, ok := refusalIn(err)
		if !ok {
			refusal = &Error{Code: CodeExecution, Message: err.Error()}
		}
		kind, data = frameError, refusal
	}

	return x.answer(ctx, kind, data) && CodeOf(err) != CodeCapacity
}

func (x *session) answer(ctx context.Context, kind FrameType, data any) bool {
	raw, err := encode(kind, data)
	if err != nil {
		return false
	}

	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()

	return x.ws.Write(ctx, websocket.MessageText, raw) == nil
}

func refuse(code Code, format string, args ...any) error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// decode decodes the data of a request. Unknown fields are errors.
func decode(raw json.RawMessage, into any) error {
	if len(raw) == 0 {
		return nil
	}

	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return refuse(CodeValidation, "%v", err)
	}

	return nil
}

func (x *session) handle(ctx context.Context, raw []byte) (FrameType, any, error) {
	var f frame
	if err := json.Unmarshal(raw, &f); err != nil {
		return "", nil, refuse(CodeJSON, "%v", err)
	}

	switch f.Type {
	case FrameReset:
		a, err := x.reset(ctx, f.Data)
		return frameObservation, a, err
	case FrameStep:
		a, err := x.step(ctx, f.Data)
		return frameObservation, a, err
	case FrameState:
		v, err := x.state(ctx, f.Data)
		return FrameState, v, err
	case frameClose:
		return "", nil, errClose
	}

	return "", nil, refuse(CodeType, "unknown type %q; known are reset, step, state, close", f.Type)
}

func (x *session) reset(ctx context.Context, raw json.RawMessage) (any, error) {
	var r struct {
		resetData
		Episode string `json:"episode_id"` // The clients of OpenEnv send one.
	}

	if err := decode(raw, &r); err != nil {
		return nil, err
	}

	t, err := x.find(r.resetData)
	if err != nil {
		return nil, err
	}

	if err := x.open(ctx); err != nil {
		return nil, err
	}

	x.task, x.steps, x.over = t, 0, false
	tr, err := x.env.Reset(ctx, t)
	if errors.Is(err, envadapters.ErrTask) {
		x.broken()
		return nil, refuse(CodeUnknownTask, "%v", err)
	}

	x.goal = tr.Goal

	return x.observe(ctx, tr, err)
}

// find returns the first task that a reset names. A missing task, split or budget is filled in.
func (x *session) find(r resetData) (domain.Task, error) {
	for _, t := range x.desc.Tasks {
		if r.Task != "" && (t.Name != r.Task || r.Split != "" && t.Split != r.Split) {
			continue
		}

		steps := r.MaxSteps
		if steps == 0 {
			steps = t.MaxSteps
		}
		if steps < 1 {
			return domain.Task{}, refuse(CodeValidation, "max_steps must be at least 1, not %d", steps)
		}

		return domain.Task{Suite: x.desc.Suite, Template: t.Name, Split: t.Split, Seed: r.Seed, MaxSteps: steps}, nil
	}

	return domain.Task{}, refuse(CodeUnknownTask, "no task %q in split %q", r.Task, r.Split)
}

// open opens an environment if the session has none.
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

// broken closes the environment: nothing is known about its state.
func (x *session) broken() {
	x.env.Close(context.Background())
	x.env = nil
}

func (x *session) step(ctx context.Context, raw json.RawMessage) (any, error) {
	if x.env == nil || x.over {
		return nil, refuse(CodeSession, "there is no episode: send a reset first")
	}

	var a domain.Action
	if err := json.Unmarshal(raw, &a); err != nil {
		return nil, refuse(CodeValidation, "%v", err)
	}

	if a.Type != domain.ActionNone { // The no-op belongs to both families.
		if err := a.Validate(); err != nil {
			return nil, refuse(CodeValidation, "%v", err)
		}
		if !a.InFamily(x.suite.Family()) {
			return nil, refuse(CodeValidation, "this environment takes %s actions", x.suite.Family())
		}
	}

	tr, err := x.env.Step(ctx, a)
	x.steps++

	return x.observe(ctx, tr, err)
}

func (x *session) observe(ctx context.Context, tr envadapters.Transition, err error) (any, error) {
	if err != nil {
		x.broken()
		return nil, refuse(CodeExecution, "%v", err)
	}

	o := Observation{
		Goal:      x.goal,
		Elements:  tr.Observation.Elements,
		Screen:    Screen{W: tr.Observation.Width, H: tr.Observation.Height},
		History:   tr.History,
		HasHist:   tr.History != nil,
		MaxSteps:  x.task.MaxSteps,
		Truncated: tr.Truncated,
	}

	if tr.Invalid != "" {
		o.Error = &Error{Code: CodeInvalidAction, Message: tr.Invalid}
	}

	x.over = tr.Terminated || tr.Truncated
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
		o.Score, o.Success, o.Info.Raw, o.Metrics = &score, &s.Success, &s.Raw, s.Metrics
	}

	return map[string]any{"observation": o, "reward": tr.Reward, "done": x.over}, nil
}

func (x *session) state(ctx context.Context, raw json.RawMessage) (any, error) {
	var q stateData
	if err := decode(raw, &q); err != nil {
		return nil, err
	}

	if q.Image == "" && !q.Right {
		return struct {
			Description
			Step int `json:"step_count"`
		}{x.desc, x.steps}, nil
	}

	if x.env == nil {
		return nil, refuse(CodeSession, "there is no episode: send a reset first")
	}

	can := envadapters.Can(x.env)
	if q.Right {
		return map[string]any{"right": right(can)}, nil
	}

	if can.Screenshotter == nil || q.Image != "png" {
		return nil, refuse(CodeValidation, "no image of kind %q here", q.Image)
	}

	png, err := can.Screenshotter.Screenshot(ctx)
	if err != nil {
		x.broken()
		return nil, refuse(CodeExecution, "%v", err)
	}

	return map[string]any{"image": map[string]any{"mime": "image/png", "b64": png}}, nil
}

// right lists the actions that help now, as far as the environment knows them.
func right(can envadapters.Abilities) []domain.Action {
	out := []domain.Action{}
	if can.Judge != nil {
		return append(out, can.Judge.Right()...)
	}

	if can.Expert != nil {
		if a, ok := can.Expert.Advise(); ok {
			out = append(out, a)
		}
	}

	return out
}
