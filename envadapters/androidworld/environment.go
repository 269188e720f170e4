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

// busyWait bounds how long a reset waits for a call of an older lease.
const busyWait = 5 * time.Minute

// environment plays one episode after another on one leased slot.
type environment struct {
	suite *Suite
	slot  *slot
	conn  *openenv.Conn
	void  error // what spoiled the lease

	task       domain.Task
	generation int
	seen       domain.Observation
	steps      int
	playing    bool
	ended      bool
	score      envadapters.Score
}

// resetData is the data of a reset.
type resetData struct {
	Task     string  `json:"task"`
	Seed     uint64  `json:"seed"`
	MaxSteps int     `json:"max_steps"`
	TTL      float64 `json:"ttl_s"`
}

// leaseTTL is how long an agent may think between two steps, in seconds.
const leaseTTL = 900

// stepData is an action on a device: pixels of the element that was seen, and the lease.
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

func (e *environment) Reset(ctx context.Context, t domain.Task) (envadapters.Transition, error) {
	var none envadapters.Transition
	if ctx.Err() != nil {
		return none, context.Cause(ctx)
	}
	if !e.suite.has(t) {
		return none, fault.New(fault.Invalid, "%w: AndroidWorld has no task %q in split %q", envadapters.ErrTask, t.Template, t.Split)
	}
	if e.suite.pool.bars(t.Template) {
		return none, fault.New(fault.Invalid, "%w: %s could not be set up on several emulators and is in quarantine", envadapters.ErrTask, t.Template)
	}
	e.task, e.steps, e.playing, e.ended, e.score, e.generation = t, 0, false, false, envadapters.Score{}, 0
	limit := time.Now().Add(busyWait)
	for {
		tr, goal, err := e.call(ctx, "reset", resetData{t.Template, t.Seed, t.MaxSteps, leaseTTL})
		if openenv.CodeOf(err) == openenv.CodeBusy && time.Now().Before(limit) {
			e.void = nil // busy is not dead
			select {
			case <-time.After(e.suite.pool.p.poll):
				continue
			case <-ctx.Done():
				return none, context.Cause(ctx)
			}
		}
		switch openenv.CodeOf(err) {
		case openenv.CodeCapacity: // another worker was faster: another slot
			e.Close(ctx)
			if err := e.connect(ctx); err != nil {
				return none, err
			}
			continue
		case openenv.CodeTaskInit:
			e.suite.pool.blame(t.Template, e.slot)
		case openenv.CodeUnknownTask:
			err = fault.New(fault.Invalid, "%w: %w", envadapters.ErrTask, err)
		}
		if err != nil {
			return none, err
		}
		e.suite.pool.praise(t.Template)
		e.playing, tr.Goal = true, goal
		return tr, nil
	}
}

func (e *environment) Step(ctx context.Context, a domain.Action) (envadapters.Transition, error) {
	if !e.playing || e.ended {
		return envadapters.Transition{}, fault.New(fault.Fatal, "step outside of an episode")
	}
	if ctx.Err() != nil {
		return envadapters.Transition{}, context.Cause(ctx)
	}
	e.steps++
	d := stepData{Action: a, generation: e.generation}
	if a.Type == domain.ActionNone {
		d.Action = domain.Action{Type: domain.ActionWait} // a no-op on the device
	}
	if a.Index != nil {
		if el, ok := e.seen.Element(*a.Index); ok && el.Visible {
			x, y := el.Bounds[0]+el.Bounds[2]/2, el.Bounds[1]+el.Bounds[3]/2
			d.x, d.y = &x, &y
		} // else the companion says that there is no such element, and counts the step
	}
	tr, _, err := e.call(ctx, "step", d)
	return tr, err
}

// call makes a reset or a step. Every error spoils the lease.
func (e *environment) call(ctx context.Context, kind string, data any) (envadapters.Transition, string, error) {
	var got struct {
		Observation openenv.Observation `json:"observation"`
		Done        bool                `json:"done"`
	}
	var tr envadapters.Transition
	err := e.conn.Call(ctx, kind, data, &got)
	o := got.Observation
	if err == nil && (o.Info.Generation == 0 || kind == "step" && o.Info.Generation != e.generation) {
		e.conn.Close()
		err = fault.New(fault.Void, "%s: an answer of lease %d came to lease %d", kind, o.Info.Generation, e.generation)
	}
	if err != nil {
		e.void, e.playing = err, false
		return tr, "", err
	}
	if o, err = o.Checked(); err != nil {
		e.void, e.playing = err, false
		return tr, "", fault.New(fault.Void, "%s: %w", kind, err)
	}
	e.generation = o.Info.Generation
	e.seen = o.Seen(domain.FamilyMobile)
	tr.Observation = e.seen
	if o.Error != nil {
		tr.Invalid = fmt.Sprintf("%s: %s", o.Error.Code, o.Error.Message)
	}
	tr.Truncated = o.Truncated || !got.Done && e.steps >= e.task.MaxSteps
	tr.Terminated = got.Done && !tr.Truncated
	e.ended = tr.Terminated || tr.Truncated
	if e.ended {
		e.score = envadapters.Score{Success: tr.Terminated && o.Success != nil && *o.Success}
		if o.Info.Raw != nil {
			e.score.Raw = *o.Info.Raw
		}
		if e.score.Success {
			tr.Reward = 1
		}
	}
	return tr, o.Goal, nil
}

// Score is known behind the end: upstream's own, and a success only where the agent said that it was done.
func (e *environment) Score(context.Context) (envadapters.Score, error) { return e.score, nil }

// Screenshot is the picture of the last observation.
func (e *environment) Screenshot(ctx context.Context) ([]byte, error) {
	var t struct {
		Image struct {
			B64 []byte `json:"b64"`
		} `json:"image"`
		Generation int `json:"generation"`
	}
	err := e.conn.Call(ctx, "state", map[string]any{"image": "png", "generation": e.generation}, &t)
	if err == nil && t.Generation != e.generation {
		err = fault.New(fault.Void, "a screenshot of lease %d came to lease %d", t.Generation, e.generation)
	}
	if err != nil {
		e.void = err
	}
	return t.Image.B64, err
}

// Close ends the lease: the companion tears the task down, whatever happened before.
func (e *environment) Close(context.Context) {
	if e.slot == nil {
		return
	}
	e.conn.Close()
	e.suite.pool.give(e.slot, e.void)
	e.slot = nil
}
