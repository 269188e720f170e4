package fakephone

import (
	"encoding/json"
	"fmt"
	"time"
)

func (p *Phone) state(data json.RawMessage, lease *int) (any, *refusal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var q struct{ Image string }
	_ = json.Unmarshal(data, &q)
	out := map[string]any{"profile": "collabui/1", "suite": "androidworld", "title": "AndroidWorld", "family": "mobile", "version": "fake", "splits": []string{"all"}, "capabilities": []string{"screenshot"}, "generation": p.generation}
	if q.Image != "" {
		if *lease != p.generation {
			return nil, &refusal{Code: "STALE_LEASE"}
		}
		out["image"] = map[string]any{"mime": "image/png", "b64": picture}
		return out, nil
	}
	var tasks []map[string]any
	for _, t := range p.tasks {
		tasks = append(tasks, map[string]any{"name": t.Name, "group": t.Group, "split": "all", "max_steps": t.Steps})
	}
	out["tasks"] = tasks
	return out, nil
}

func (p *Phone) reset(data json.RawMessage, lease *int) (any, *refusal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var q struct {
		Task     string
		Seed     uint64
		MaxSteps int `json:"max_steps"`
	}
	if err := json.Unmarshal(data, &q); err != nil {
		return nil, &refusal{Code: "VALIDATION_ERROR", Message: err.Error()}
	}
	if p.booting || !p.busySince.IsZero() {
		return nil, &refusal{Code: "BUSY", Message: "an earlier call still runs", Retry: 0.01}
	}
	if p.leased && *lease != p.generation {
		return nil, &refusal{Code: "CAPACITY_REACHED", Message: "leased to another connection"}
	}
	var t *Task
	for i := range p.tasks {
		if p.tasks[i].Name == q.Task {
			t = &p.tasks[i]
		}
	}
	if t == nil {
		return nil, &refusal{Code: "UNKNOWN_TASK"}
	}
	if p.episode != nil {
		p.episode.Over = true
		p.TornDown++
		p.episode = nil
	}
	p.generation++
	*lease, p.leased = p.generation, true
	if p.chance(p.faults.Offline) {
		p.vanish()
		return nil, &refusal{Code: "ADB", Message: "gone"}
	}
	if p.dead != "" {
		return nil, &refusal{Code: p.dead, Message: "until a restart"}
	}
	if p.chance(p.faults.Dirty) {
		p.dead = "DIRTY"
		return nil, &refusal{Code: "DIRTY", Message: "no snapshot"}
	}
	if p.faults.Never[q.Task] || p.chance(p.faults.Init[q.Task]) {
		return nil, &refusal{Code: "TASK_INIT", Message: "no such table"}
	}
	p.episode = &Truth{Task: q.Task, Seed: q.Seed, Generation: p.generation}
	p.truths = append(p.truths, p.episode)
	p.at, p.steps, p.budget = 0, 0, q.MaxSteps
	p.buttons, p.want = Screen(*t, q.Seed)
	return p.observe("", false, false), nil
}

func (p *Phone) step(data json.RawMessage, own *int) (any, *refusal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	lease := *own
	var a struct {
		Generation int
		Type       string `json:"action_type"`
		Status     string `json:"goal_status"`
		X, Y       *int
	}
	if err := json.Unmarshal(data, &a); err != nil {
		return nil, &refusal{Code: "VALIDATION_ERROR", Message: err.Error()}
	}
	if lease != p.generation || a.Generation != lease {
		p.Stale++
		return nil, &refusal{Code: "STALE_LEASE"}
	}
	if p.episode == nil {
		return nil, &refusal{Code: "SESSION_ERROR"}
	}
	if p.chance(p.faults.Offline) {
		p.vanish()
		return nil, &refusal{Code: "ADB", Message: "gone"}
	}
	if p.chance(p.faults.ADB) {
		p.dead = "ADB"
	}
	if p.dead != "" {
		return nil, &refusal{Code: p.dead}
	}
	if p.chance(p.faults.A11y) {
		return nil, &refusal{Code: "A11Y"}
	}
	wait := time.Duration(0)
	if p.faults.Latency != nil {
		wait = p.faults.Latency()
	}
	if p.chance(p.faults.Hang) {
		wait = p.faults.Hung
	}
	if wait > 0 {
		p.busySince, p.owner = time.Now(), lease
		p.mu.Unlock()
		time.Sleep(wait) // the device acts behind this, whoever still waits
		p.mu.Lock()
		if p.owner == lease {
			p.busySince = time.Time{}
		}
		if lease != p.generation { // fenced right before it executes
			p.Stale++
			return nil, &refusal{Code: "STALE_LEASE"}
		}
	}
	p.steps++
	bad, said := "", false
	switch {
	case p.episode.Generation != lease:
		p.episode.Foreign++
	case a.Type == "click" && a.X != nil && a.Y != nil && *a.Y/100 >= 0 && *a.Y/100 < len(p.buttons):
		if p.at < len(p.want) && p.buttons[*a.Y/100] == p.want[p.at] {
			p.at++
		} else {
			p.at = 0
		}
	case a.Type == "status":
		said = true
	case a.Type == "wait" || a.Type == "answer":
	default:
		bad = "nothing is there"
	}
	return p.observe(bad, said, p.steps >= p.budget && !said), nil
}

// observe is the data of an observation frame. Callers hold mu.
func (p *Phone) observe(bad string, done, truncated bool) any {
	var els []map[string]any
	for i, b := range p.buttons {
		els = append(els, map[string]any{"i": 2 * i, "role": "button", "text": b, "bounds": []int{0, 100 * i, 300, 100}, "visible": true})
	}
	g := p.episode.Generation
	if p.chance(p.faults.Lies) {
		g++
	}
	goal := "Tap"
	for _, w := range p.want {
		goal += " " + w
	}
	o := map[string]any{"goal": goal, "elements": els, "screen": map[string]int{"w": 300, "h": 600}, "max_steps": p.budget, "truncated": truncated, "last_action_error": nil,
		"info": map[string]any{"generation": g, "owner": fmt.Sprintf("%s %d", p.episode.Task, p.episode.Seed), "done": p.at}}
	if bad != "" {
		o["last_action_error"] = refusal{Code: "BAD_ACTION", Message: bad}
	}
	if done || truncated {
		right := p.at == len(p.want)
		score := 0.0
		if right && done {
			score = 1
		}
		o["score"], o["success"] = score, score == 1
		o["info"].(map[string]any)["raw"] = map[bool]float64{true: 1}[right]
		p.episode.Success, p.episode.Over = score == 1, true
		p.episode = nil
		p.TornDown++
	}
	return map[string]any{"observation": o, "reward": 0, "done": done || truncated}
}
