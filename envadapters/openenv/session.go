package openenv

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/coder/websocket"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
)

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
	right bool // whether the client requested the actions that help

	pingEvery, pingLimit time.Duration
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
	go func() {
		defer cancel()
		x.ping(ctx)
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

// read reads frames until the session ends. It also reads during a call, so that a lost connection ends the call and
// pings are answered.
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

// ping pings the client until an answer does not arrive in time: a client that hangs, or whose network has vanished,
// leaves the socket open. A client that waits for its agent still reads, and therefore answers.
func (x *session) ping(ctx context.Context) {
	for {
		select {
		case <-time.After(x.pingEvery):
		case <-ctx.Done():
			return
		}
		wait, stop := context.WithTimeout(ctx, x.pingLimit)
		err := x.ws.Ping(wait)
		stop()
		if err != nil {
			return
		}
	}
}

// serveOne answers a frame. It reports whether the session continues.
func (x *session) serveOne(ctx context.Context, raw []byte) bool {
	kind, data, err := x.handle(ctx, raw)
	if errors.Is(err, errClose) {
		x.end() // before the socket closes, so that the place is free when the client notices
		return false
	}

	if err != nil {
		refusal, ok := refusalIn(err)
		if !ok {
			refusal = &Error{Code: CodeExecution, Message: err.Error()}
		}
		kind = frameError
		data = refusal
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
		value, err := x.state(ctx, f.Data)
		return FrameState, value, err
	case frameClose:
		return "", nil, errClose
	}

	return "", nil, refuse(CodeType, "unknown type %q; known are reset, step, state, close", f.Type)
}
