package fakephone

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters/openenv"
)

// The phone's screen and the height of a button, in pixels.
const (
	width  = 300
	height = 600
	row    = 100
)

func (p *Phone) state(data json.RawMessage, lease *int) (any, *openenv.Error) {
	p.mu.Lock()
	defer p.mu.Unlock()

	var q struct{ Image string }
	_ = json.Unmarshal(data, &q)
	out := map[string]any{
		"profile":      openenv.Profile,
		"suite":        "androidworld",
		"title":        "AndroidWorld",
		"family":       domain.FamilyMobile,
		"version":      "fake",
		"splits":       []string{"all"},
		"capabilities": []openenv.Capability{openenv.CapScreenshot},
		"generation":   p.generation,
	}

	if q.Image != "" {
		if *lease != p.generation {
			return nil, refuse(openenv.CodeStale, "")
		}
		out["image"] = map[string]any{"mime": "image/png", "b64": picture}

		return out, nil
	}

	var tasks []openenv.Task
	for _, task := range p.tasks {
		tasks = append(tasks, openenv.Task{Name: task.Name, Group: task.Group, Split: "all", MaxSteps: task.Steps})
	}
	out["tasks"] = tasks

	return out, nil
}

func (p *Phone) reset(data json.RawMessage, lease *int) (any, *openenv.Error) {
	p.mu.Lock()
	defer p.mu.Unlock()

	var q struct {
		Task     string
		Seed     uint64
		MaxSteps int `json:"max_steps"`
	}
	if err := json.Unmarshal(data, &q); err != nil {
		return nil, refuse(openenv.CodeValidation, err.Error())
	}
	if p.booting || !p.busySince.IsZero() {
		return nil, &openenv.Error{Code: openenv.CodeBusy, Message: "an earlier call still runs", Retry: 0.01}
	}
	if p.leased && *lease != p.generation {
		return nil, refuse(openenv.CodeCapacity, "leased to another connection")
	}

	at := slices.IndexFunc(p.tasks, func(task Task) bool { return task.Name == q.Task })
	if at < 0 {
		return nil, refuse(openenv.CodeUnknownTask, "")
	}

	p.tearDown()
	p.generation++
	*lease = p.generation
	p.leased = true
	if refusal := p.failSetup(q.Task); refusal != nil {
		return nil, refusal
	}

	p.episode = &Truth{Task: q.Task, Seed: q.Seed, Generation: p.generation}
	p.truths = append(p.truths, p.episode)
	p.at = 0
	p.steps = 0
	p.budget = q.MaxSteps
	p.buttons, p.want = Screen(p.tasks[at], q.Seed)

	return p.observe("", false, false), nil
}

// failSetup draws the faults of a reset. Callers hold mu.
func (p *Phone) failSetup(task string) *openenv.Error {
	if p.chance(p.faults.Offline) {
		p.vanish()
		return refuse(openenv.CodeADB, "gone")
	}
	if p.dead != "" {
		return refuse(p.dead, "until a restart")
	}
	if p.chance(p.faults.Dirty) {
		p.dead = openenv.CodeDirty
		return refuse(openenv.CodeDirty, "no snapshot")
	}
	if p.faults.Never[task] || p.chance(p.faults.Init[task]) {
		return refuse(openenv.CodeTaskInit, "no such table")
	}

	return nil
}

// action is the data of a step.
type action struct {
	Generation int
	Type       string `json:"action_type"`
	X, Y       *int
}

func (p *Phone) step(data json.RawMessage, own *int) (any, *openenv.Error) {
	p.mu.Lock()
	defer p.mu.Unlock()

	lease := *own
	var a action
	if err := json.Unmarshal(data, &a); err != nil {
		return nil, refuse(openenv.CodeValidation, err.Error())
	}
	if lease != p.generation || a.Generation != lease {
		return nil, p.stale()
	}
	if p.episode == nil {
		return nil, refuse(openenv.CodeSession, "")
	}
	if refusal := p.failStep(); refusal != nil {
		return nil, refusal
	}

	if wait := p.duration(); wait > 0 {
		p.busySince = time.Now()
		p.owner = lease
		p.mu.Unlock()
		time.Sleep(wait) // The device acts afterwards, even if no caller waits any more.
		p.mu.Lock()
		if p.owner == lease {
			p.busySince = time.Time{}
		}
		if lease != p.generation { // The lease is checked right before the action.
			return nil, p.stale()
		}
	}

	p.steps++
	declared, bad := p.execute(a, lease)

	return p.observe(bad, declared, p.steps >= p.budget && !declared), nil
}

func (p *Phone) stale() *openenv.Error {
	p.counts.Stale++
	return refuse(openenv.CodeStale, "")
}

// failStep draws the faults of a step. Callers hold mu.
func (p *Phone) failStep() *openenv.Error {
	if p.chance(p.faults.Offline) {
		p.vanish()
		return refuse(openenv.CodeADB, "gone")
	}
	if p.chance(p.faults.ADB) {
		p.dead = openenv.CodeADB
	}
	if p.dead != "" {
		return refuse(p.dead, "")
	}
	if p.chance(p.faults.A11y) {
		return refuse(openenv.CodeA11y, "")
	}

	return nil
}

// duration draws how long a step takes. Callers hold mu.
func (p *Phone) duration() time.Duration {
	wait := time.Duration(0)
	if p.faults.Latency != nil {
		wait = p.faults.Latency()
	}
	if p.chance(p.faults.Hang) {
		wait = p.faults.Hung
	}

	return wait
}

// execute executes an action. declared reports whether the agent declared that it was done, and bad is the reason why
// the action is impossible. Callers hold mu.
func (p *Phone) execute(a action, lease int) (declared bool, bad string) {
	switch {
	case p.episode.Generation != lease:
		p.episode.Foreign++
	case a.Type == domain.ActionClick && a.X != nil && a.Y != nil && *a.Y/row >= 0 && *a.Y/row < len(p.buttons):
		if p.at < len(p.want) && p.buttons[*a.Y/row] == p.want[p.at] {
			p.at++
		} else {
			p.at = 0
		}
	case a.Type == domain.ActionStatus:
		return true, ""
	case a.Type == domain.ActionWait, a.Type == domain.ActionAnswer:
	default:
		return false, "nothing is there"
	}

	return false, ""
}

// observe returns the data of an observation frame. Callers hold mu.
func (p *Phone) observe(bad string, done, truncated bool) any {
	var els []map[string]any
	for i, b := range p.buttons {
		els = append(els, map[string]any{
			"i":       2 * i, // Indices have gaps.
			"role":    "button",
			"text":    b,
			"bounds":  []int{0, row * i, width, row},
			"visible": true,
		})
	}

	g := p.episode.Generation
	if p.chance(p.faults.Lies) {
		g++
	}

	info := map[string]any{
		"generation": g,
		"owner":      fmt.Sprintf("%s %d", p.episode.Task, p.episode.Seed),
		"done":       p.at,
	}
	o := map[string]any{
		"goal":              "Tap " + strings.Join(p.want, " "),
		"elements":          els,
		"screen":            openenv.Screen{W: width, H: height},
		"max_steps":         p.budget,
		"truncated":         truncated,
		"last_action_error": nil,
		"info":              info,
	}
	if bad != "" {
		o["last_action_error"] = refuse("BAD_ACTION", bad)
	}

	if done || truncated {
		raw := 0.0
		if p.at == len(p.want) {
			raw = 1
		}
		score := 0.0
		if done {
			score = raw
		}
		o["score"], o["success"], info["raw"] = score, score == 1, raw
		p.episode.Success = score == 1
		p.tearDown()
	}

	return map[string]any{"observation": o, "reward": 0, "done": done || truncated}
}
