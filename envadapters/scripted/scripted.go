// Package scripted is an environment without a browser that does what it is told: for tests of workflows and for benchmarks of orchestration. Its tasks
// ask for a number of named buttons in order; it breaks where a script says so.
package scripted

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
)

// Fault is a misbehaviour at one step of one task's episodes.
type Fault struct {
	Template string
	Seed     uint64
	Step     int    // 0 is Reset
	Kind     string // void, hang, diverge or invalid
	Times    int    // how often; after that the environment behaves
}

// Suite is a scripted suite.
type Suite struct {
	Names    []string      // templates; default seven
	Length   int           // steps of an episode; default 4
	Latency  time.Duration // of Reset and Step
	Places   int           // episodes at once; default 4
	mu       sync.Mutex
	faults   []Fault
	free     chan struct{}
	once     sync.Once
	Episodes int // resets so far, guarded by mu
}

// Break adds misbehaviours.
func (s *Suite) Break(f ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, f...)
}

// hit uses up a fault.
func (s *Suite) hit(t domain.Task, step int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.faults {
		if f := &s.faults[i]; f.Template == t.Template && (f.Seed == 0 || f.Seed == t.Seed) && f.Step == step && f.Times > 0 {
			f.Times--
			return f.Kind
		}
	}
	return ""
}

// Name is webtasks', so that specifications need no other environment.
func (s *Suite) Name() string { return "webtasks" }

// Family is mobile.
func (s *Suite) Family() domain.Family { return domain.FamilyMobile }

// Title says what the pages are.
func (s *Suite) Title() string { return "scripted" }

// Splits are the standard ones.
func (s *Suite) Splits() []string { return domain.Splits }

// Templates gives the same names for every split, test-templates apart.
func (s *Suite) Templates(split string) ([]envadapters.Template, error) {
	if !slices.Contains(domain.Splits, split) {
		return nil, fault.New(fault.Invalid, "no split %q", split)
	}
	names := s.Names
	if names == nil {
		names = []string{"a", "b", "c", "d", "e", "f", "g"}
	}
	var out []envadapters.Template
	for _, n := range names {
		if split == domain.SplitTestTemplates {
			n = "held-" + n
		}
		out = append(out, envadapters.Template{Name: n, Group: "scripted", MaxSteps: s.length() + 2})
	}
	return out, nil
}

func (s *Suite) length() int {
	if s.Length == 0 {
		return 4
	}
	return s.Length
}

// Open waits for a free place.
func (s *Suite) Open(ctx context.Context) (envadapters.Environment, error) {
	s.once.Do(func() {
		n := s.Places
		if n == 0 {
			n = 4
		}
		s.free = make(chan struct{}, n)
	})
	select {
	case s.free <- struct{}{}:
		return &environment{suite: s}, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Check is always ready.
func (s *Suite) Check(context.Context) envadapters.Health {
	return envadapters.Health{State: envadapters.Ready, Detail: "scripted"}
}

// Close does nothing.
func (s *Suite) Close() error { return nil }

type environment struct {
	suite  *Suite
	task   domain.Task
	names  []string // of the buttons, in the order of the screen
	want   []string
	at     int
	steps  int
	ended  bool
	odd    string // appended to the screen: what makes a replay diverge
	closed bool
}

func (e *environment) Replayable() {}

func (e *environment) misbehave(ctx context.Context, step int) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if e.suite.Latency > 0 {
		time.Sleep(e.suite.Latency)
	}
	switch e.suite.hit(e.task, step) {
	case "void":
		return fault.New(fault.Void, "scripted fault at step %d", step)
	case "invalid":
		return fault.New(fault.Invalid, "%w: scripted", envadapters.ErrTask)
	case "hang":
		<-ctx.Done()
		return context.Cause(ctx)
	case "diverge":
		e.odd = fmt.Sprintf("odd %d", e.suite.Episodes)
	}
	return nil
}

func (e *environment) Reset(ctx context.Context, t domain.Task) (envadapters.Transition, error) {
	e.suite.mu.Lock()
	e.suite.Episodes++
	e.suite.mu.Unlock()
	known, err := e.suite.Templates(t.Split)
	if err != nil || !slices.ContainsFunc(known, func(k envadapters.Template) bool { return k.Name == t.Template }) {
		return envadapters.Transition{}, fault.New(fault.Invalid, "%w: scripted has no template %q in split %q", envadapters.ErrTask, t.Template, t.Split)
	}
	e.task, e.at, e.steps, e.ended, e.odd = t, 0, 0, false, ""
	if err := e.misbehave(ctx, 0); err != nil {
		return envadapters.Transition{}, err
	}
	r := domain.Rand(t.Seed, t.Template, t.Split)
	e.names = nil
	for _, i := range r.Perm(20)[:6] {
		e.names = append(e.names, fmt.Sprintf("w%c%d", 'a'+i, r.IntN(1000)))
	}
	e.want = e.names[:e.suite.length()]
	e.names = slices.Clone(e.names)
	r.Shuffle(len(e.names), func(i, j int) { e.names[i], e.names[j] = e.names[j], e.names[i] })
	return envadapters.Transition{Goal: "Tap " + strings.Join(e.want, " then "), Observation: e.observe()}, nil
}

func (e *environment) observe() domain.Observation {
	o := domain.Observation{Width: 100, Height: 100}
	for i, n := range append(slices.Clone(e.names), fmt.Sprintf("count %d%s", e.at, e.odd)) {
		role := "button"
		if i == len(e.names) {
			role = "text"
		}
		o.Elements = append(o.Elements, domain.Element{Index: i, Role: role, Text: n, Bounds: domain.Rect{0, 10 * i, 100, 10}, Visible: true})
	}
	return o
}

func (e *environment) Step(ctx context.Context, a domain.Action) (envadapters.Transition, error) {
	if e.ended {
		return envadapters.Transition{}, fault.New(fault.Fatal, "step after the episode's end")
	}
	e.steps++
	if err := e.misbehave(ctx, e.steps); err != nil {
		return envadapters.Transition{}, err
	}
	t := envadapters.Transition{}
	switch {
	case a.Type != domain.ActionClick:
		t.Invalid = "only click does anything here"
	case *a.Index < 0 || *a.Index >= len(e.names):
		t.Invalid = "no such button"
	case e.names[*a.Index] == e.want[e.at]:
		e.at++
	}
	t.Observation = e.observe()
	t.Terminated = e.at == len(e.want)
	t.Truncated = !t.Terminated && e.steps >= e.task.MaxSteps
	e.ended = t.Terminated || t.Truncated
	if t.Terminated {
		t.Reward = 1
	}
	return t, nil
}

func (e *environment) Score(context.Context) (envadapters.Score, error) {
	return envadapters.Score{Success: e.at == len(e.want), Raw: float64(e.at) / float64(len(e.want))}, nil
}

// Advise taps the next button.
func (e *environment) Advise() (domain.Action, bool) {
	if e.at == len(e.want) {
		return domain.Action{}, false
	}
	return e.Right()[0], true
}

// Right is the next button.
func (e *environment) Right() []domain.Action {
	if e.at == len(e.want) {
		return nil
	}
	return []domain.Action{domain.Action{Type: domain.ActionClick}.At(slices.Index(e.names, e.want[e.at]))}
}

func (e *environment) Close(context.Context) {
	if !e.closed {
		e.closed = true
		<-e.suite.free
	}
}

var _ envadapters.Suite = (*Suite)(nil)
