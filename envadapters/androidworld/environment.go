package androidworld

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/openenv"
	"github.com/collabui/collabui/fault"
)

// busyWait is how long a reset waits for a call of an older lease to end.
const busyWait = 5 * time.Minute

// leaseTTL is how long an agent may think between two steps, in seconds.
const leaseTTL = 900

// environment plays one episode after another on one leased slot.
type environment struct {
	openenv.Episode
	suite *Suite
	slot  *slot // slot is nil after Close
	conn  *openenv.Conn
	void  error // the error that spoiled the lease, if any

	generation int // the number of the lease
	seen       domain.Observation
	score      envadapters.Score
}

// resetData is the data of a reset message.
type resetData struct {
	Task     string  `json:"task"`
	Seed     uint64  `json:"seed"`
	MaxSteps int     `json:"max_steps"`
	TTL      float64 `json:"ttl_s"`
}

// stepData is an action on a device, with the lease and the centre, in pixels, of the element that the agent saw.
type stepData struct {
	domain.Action
	x, y       *int
	generation int
}

// MarshalJSON adds the fields to the action's own.
func (s stepData) MarshalJSON() ([]byte, error) {
	raw, err := json.Marshal(s.Action)
	if err != nil {
		return nil, err
	}
	out := map[string]any{}
	if err := json.Unmarshal(raw, &out); err != nil {
		return nil, err
	}

	out["generation"] = s.generation
	if s.x != nil {
		out["x"], out["y"] = *s.x, *s.y
	}

	return json.Marshal(out)
}

// connect takes a slot and opens a session with its companion.
func (e *environment) connect(ctx context.Context) error {
	p := e.suite.pool
	for {
		sl, err := p.take(ctx)
		if err != nil {
			return err
		}

		conn, err := openenv.Dial(ctx, sl.url)
		if err == nil {
			conn.Limit = p.limits.call
			e.slot = sl
			e.conn = conn
			e.void = nil

			return nil
		}

		p.give(sl, err)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// Reset sets up a task. It waits while the companion finishes a call of an older lease, and moves to another slot if
// another worker has leased this one.
func (e *environment) Reset(ctx context.Context, task domain.Task) (envadapters.Transition, error) {
	var none envadapters.Transition
	if ctx.Err() != nil {
		return none, context.Cause(ctx)
	}

	p := e.suite.pool
	if !e.suite.has(task) {
		return none, fault.New(fault.Invalid, "%w: AndroidWorld has no task %q in split %q",
			envadapters.ErrTask, task.Template, task.Split)
	}
	if p.isBarred(task.Template) {
		return none, fault.New(fault.Invalid, "%w: %s could not be set up on several emulators and is in quarantine",
			envadapters.ErrTask, task.Template)
	}

	e.Begin(task)
	e.score = envadapters.Score{}
	e.generation = 0
	data := resetData{Task: task.Template, Seed: task.Seed, MaxSteps: task.MaxSteps, TTL: leaseTTL}
	for limit := time.Now().Add(busyWait); ; {
		tr, err := e.call(ctx, openenv.FrameReset, data)
		code := openenv.CodeOf(err)
		switch {
		case err == nil:
			p.praise(task.Template)
			e.Start()
			return tr, nil
		case code == openenv.CodeBusy && time.Now().Before(limit):
			e.void = nil // a busy companion is not a dead one
			select {
			case <-time.After(p.limits.poll):
				continue
			case <-ctx.Done():
				return none, context.Cause(ctx)
			}
		case code == openenv.CodeCapacity: // another worker was faster
			e.Close(ctx)
			if err := e.connect(ctx); err != nil {
				return none, err
			}
			continue
		case code == openenv.CodeTaskInit:
			p.blame(task.Template, e.slot)
		case code == openenv.CodeUnknownTask:
			err = fault.New(fault.Invalid, "%w: %w", envadapters.ErrTask, err)
		}

		return none, err
	}
}

// Step executes one action on the device.
func (e *environment) Step(ctx context.Context, action domain.Action) (envadapters.Transition, error) {
	if err := e.BeginStep(ctx); err != nil {
		return envadapters.Transition{}, err
	}

	data := stepData{Action: action, generation: e.generation}
	if action.Type == domain.ActionNone {
		data.Action = domain.Action{Type: domain.ActionWait} // a no-op on the device
	}

	// If the element is missing, the companion reports it and counts the step.
	if action.Index != nil {
		if el, ok := e.seen.Element(*action.Index); ok && el.Visible {
			x := el.Bounds[0] + el.Bounds[2]/2
			y := el.Bounds[1] + el.Bounds[3]/2
			data.x = &x
			data.y = &y
		}
	}

	tr, err := e.call(ctx, openenv.FrameStep, data)
	tr.Goal = ""

	return tr, err
}

// call performs a reset or a step and reads the resulting transition. Every error spoils the lease.
func (e *environment) call(ctx context.Context, kind openenv.FrameType, data any) (envadapters.Transition, error) {
	observation, done, err := e.exchange(ctx, kind, data)
	if err != nil {
		e.void = err
		e.Stop()

		return envadapters.Transition{}, err
	}

	e.generation = observation.Info.Generation
	e.seen = observation.Seen(domain.FamilyMobile)
	tr := envadapters.Transition{Goal: observation.Goal, Observation: e.seen}
	if observation.Error != nil {
		tr.Invalid = fmt.Sprintf("%s: %s", observation.Error.Code, observation.Error.Message)
	}

	if e.Observe(&tr, done, observation.Truncated) {
		e.score = envadapters.Score{Success: tr.Terminated && observation.Success != nil && *observation.Success}
		if observation.Info.Raw != nil {
			e.score.Raw = *observation.Info.Raw
		}
		if e.score.Success {
			tr.Reward = 1
		}
	}

	return tr, nil
}

// exchange performs a call and checks that the answer belongs to the lease.
func (e *environment) exchange(ctx context.Context, kind openenv.FrameType, data any) (
	o openenv.Observation, done bool, err error) {
	var got struct {
		Observation openenv.Observation `json:"observation"`
		Done        bool                `json:"done"`
	}
	if err := e.conn.Call(ctx, kind, data, &got); err != nil {
		return o, false, err
	}

	g := got.Observation.Info.Generation
	if g == 0 || kind == openenv.FrameStep && g != e.generation {
		e.conn.Close()
		return o, false, fault.New(fault.Void, "%s: an answer of lease %d came to lease %d", kind, g, e.generation)
	}

	if o, err = got.Observation.Checked(); err != nil {
		return o, false, fault.New(fault.Void, "%s: %w", kind, err)
	}

	return o, got.Done, nil
}

// Score returns AndroidWorld's own score. It is known after the end of the episode, and a success requires that the
// agent declared the task done.
func (e *environment) Score(context.Context) (envadapters.Score, error) { return e.score, nil }

// Screenshot returns the picture of the last observation as PNG.
func (e *environment) Screenshot(ctx context.Context) ([]byte, error) {
	var t struct {
		Image struct {
			B64 []byte `json:"b64"`
		} `json:"image"`
		Generation int `json:"generation"`
	}
	ask := map[string]any{"image": "png", "generation": e.generation}

	err := e.conn.Call(ctx, openenv.FrameState, ask, &t)
	if err == nil && t.Generation != e.generation {
		err = fault.New(fault.Void, "a screenshot of lease %d came to lease %d", t.Generation, e.generation)
	}
	if err != nil {
		e.void = err
	}

	return t.Image.B64, err
}

// Close ends the lease; the companion tears the task down in any state. It may be repeated.
func (e *environment) Close(context.Context) {
	if e.slot == nil {
		return
	}

	e.conn.Close()
	e.suite.pool.give(e.slot, e.void)
	e.slot = nil
}
