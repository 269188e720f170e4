package openenv

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/coder/websocket"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
)

// Limits of a session at our server.
const (
	maxRequest  = 1 << 20          // bytes of a frame
	openLimit   = 5 * time.Second  // waiting for a place
	idleLimit   = 10 * time.Minute // between two frames
	answerLimit = 30 * time.Second // writing one answer
)

// Handler serves a suite to others: /ws is a session, /health, /metadata and /schema tell what is here. The stateless /reset and /step of OpenEnv are not offered: they cannot play
// an episode. A page of a web browser may not connect.
func Handler(s envadapters.Suite) (http.Handler, error) {
	d, err := Describe(s)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	send := func(path string, v any) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(v)
		})
	}
	send("/health", map[string]string{"status": "healthy"})
	send("/metadata", map[string]string{"name": d.Suite, "description": d.Title, "version": d.Version, "profile": Profile})
	send("/schema", json.RawMessage(schema))
	mux.HandleFunc("GET /ws", func(w http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(w, r, nil)
		if err != nil {
			return // Accept has answered
		}
		ws.SetReadLimit(maxRequest)
		x := &session{suite: s, desc: d, ws: ws}
		defer x.end()
		x.serve(r.Context())
	})
	return mux, nil
}

// session is one connection.
type session struct {
	suite envadapters.Suite
	desc  Description
	ws    *websocket.Conn
	env   envadapters.Environment // nil between a broken episode and the next reset
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
	go func() { // reads all the time, so that a lost connection ends what runs, and pings are answered
		defer cancel()
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
	}()
	for {
		select {
		case raw := <-frames:
			kind, data, err := x.handle(ctx, raw)
			if errors.Is(err, errClose) {
				x.end() // before the socket closes, so that the place is free when the client knows
				return
			}
			refusal := &Error{}
			if errors.As(err, &refusal) {
				kind, data = "error", refusal
			} else if err != nil {
				kind, data = "error", &Error{Code: CodeExecution, Message: err.Error()}
			}
			if !x.answer(ctx, kind, data) || kind == "error" && refusal.Code == CodeCapacity {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

func (x *session) answer(ctx context.Context, kind string, data any) bool {
	body, err := json.Marshal(data)
	if err != nil {
		return false
	}
	raw, err := json.Marshal(frame{kind, body})
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	return x.ws.Write(ctx, websocket.MessageText, raw) == nil
}

func refuse(code, format string, args ...any) error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// decode is strict: unknown fields are errors.
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

func (x *session) handle(ctx context.Context, raw []byte) (string, any, error) {
	var f frame
	if err := json.Unmarshal(raw, &f); err != nil {
		return "", nil, refuse(CodeJSON, "%v", err)
	}
	switch f.Type {
	case "reset":
		a, err := x.reset(ctx, f.Data)
		return "observation", a, err
	case "step":
		a, err := x.step(ctx, f.Data)
		return "observation", a, err
	case "state":
		v, err := x.state(ctx, f.Data)
		return "state", v, err
	case "close":
		return "", nil, errClose
	}
	return "", nil, refuse(CodeType, "unknown type %q; known are reset, step, state, close", f.Type)
}

func (x *session) reset(ctx context.Context, raw json.RawMessage) (any, error) {
	r := struct {
		resetData
		Episode string `json:"episode_id"` // OpenEnv's clients send one
	}{}
	if err := decode(raw, &r); err != nil {
		return nil, err
	}
	known := false
	for _, t := range x.desc.Tasks {
		if r.Task == "" || t.Name == r.Task && (r.Split == "" || t.Split == r.Split) {
			r.Task, r.Split, known = t.Name, t.Split, true
			if r.MaxSteps == 0 {
				r.MaxSteps = t.MaxSteps
			}
			break
		}
	}
	if !known {
		return nil, refuse(CodeUnknownTask, "no task %q in split %q", r.Task, r.Split)
	}
	if r.MaxSteps < 1 {
		return nil, refuse(CodeValidation, "max_steps must be at least 1, not %d", r.MaxSteps)
	}
	if x.env == nil {
		wait, cancel := context.WithTimeout(ctx, openLimit)
		defer cancel()
		var err error
		if x.env, err = x.suite.Open(wait); err != nil {
			x.env = nil
			if wait.Err() != nil {
				return nil, refuse(CodeCapacity, "no place within %v", openLimit)
			}
			return nil, err
		}
	}
	x.task, x.steps, x.over = domain.Task{Suite: x.desc.Suite, Template: r.Task, Split: r.Split, Seed: r.Seed, MaxSteps: r.MaxSteps}, 0, false
	tr, err := x.env.Reset(ctx, x.task)
	if errors.Is(err, envadapters.ErrTask) {
		x.broken()
		return nil, refuse(CodeUnknownTask, "%v", err)
	}
	x.goal = tr.Goal
	return x.observe(ctx, tr, err)
}

// broken gives the environment back: nothing about its state is known any more.
func (x *session) broken() {
	x.env.Close(context.Background())
	x.env = nil
}

func (x *session) step(ctx context.Context, raw json.RawMessage) (any, error) {
	if x.env == nil || x.over {
		return nil, refuse(CodeSession, "no episode is under way: send a reset first")
	}
	var a domain.Action
	err := json.Unmarshal(raw, &a)
	if err == nil && a.Type != domain.ActionNone { // which agents of both families can be left with, where nothing parses
		if err = a.Validate(); err == nil && !a.InFamily(x.suite.Family()) {
			err = fmt.Errorf("this environment takes %s actions", x.suite.Family())
		}
	}
	if err != nil {
		return nil, refuse(CodeValidation, "%v", err)
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
	o := Observation{Goal: x.goal, Elements: tr.Observation.Elements, Screen: Screen{tr.Observation.Width, tr.Observation.Height}, History: tr.History, HasHist: tr.History != nil,
		MaxSteps: x.task.MaxSteps, Truncated: tr.Truncated}
	if tr.Invalid != "" {
		o.Error = &Error{Code: "INVALID_ACTION", Message: tr.Invalid}
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
	var q ask
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
		return nil, refuse(CodeSession, "no episode is under way: send a reset first")
	}
	can := envadapters.Can(x.env)
	if q.Right {
		right := []domain.Action{}
		if can.Judge != nil {
			right = append(right, can.Judge.Right()...)
		} else if can.Expert != nil {
			if a, ok := can.Expert.Advise(); ok {
				right = append(right, a)
			}
		}
		return map[string]any{"right": right}, nil
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
