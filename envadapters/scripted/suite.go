// Package scripted is an environment without a browser that follows a script, for tests of workflows and benchmarks of
// orchestration. The goal of its tasks is to tap some named buttons in order. It breaks where the script says so.
//
// It does no I/O.
package scripted

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
)

// Misbehaviour is a kind of misbehaviour.
type Misbehaviour string

const (
	// Void loses the episode with fault.Void.
	Void Misbehaviour = "void"
	// Invalid makes the task at fault, with envadapters.ErrTask.
	Invalid Misbehaviour = "invalid"
	// Diverge shows another screen from then on, so that a replay differs.
	Diverge Misbehaviour = "diverge"
)

// Fault is a misbehaviour at one step of a task's episodes.
type Fault struct {
	// Split is the split of the task. "" means any.
	Split    string
	Template string
	// Seed is the seed of the task. 0 means any.
	Seed uint64
	// Step is the step, counted from 1. 0 is Reset.
	Step int
	Kind Misbehaviour
	// Times is the number of times that the environment misbehaves.
	Times int
}

// Suite is a scripted suite. Its zero value is ready for use.
type Suite struct {
	// Length is the number of buttons to tap, 4 by default.
	Length int
	// Apps adds the split test-apps.
	Apps bool
	// More names further templates, in all splits but test-templates and test-apps.
	More []string
	// Trained names further templates, in train alone.
	Trained []string
	// Without names templates to leave out.
	Without []string
	// Edition is the suite's version.
	Edition string
	// Places is the number of concurrent episodes, 4 by default.
	Places int
	// Latency is the median time of a step, which is lognormal with σ = 1. The time follows from the task and the step.
	Latency time.Duration

	once sync.Once
	free chan struct{}

	mu     sync.Mutex
	faults []Fault
	// Episodes is the number of resets.
	Episodes int
}

// Played returns Episodes. Unlike the field, it may be read while episodes run.
func (s *Suite) Played() int {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.Episodes
}

// Break adds misbehaviours.
func (s *Suite) Break(faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, faults...)
}

// hit returns the misbehaviour that is due at a step of a task, and counts it. It returns "" if none is due.
func (s *Suite) hit(task domain.Task, step int) Misbehaviour {
	s.mu.Lock()
	defer s.mu.Unlock()

	for i := range s.faults {
		f := &s.faults[i]
		sameTask := f.Template == task.Template && (f.Seed == 0 || f.Seed == task.Seed) &&
			(f.Split == "" || f.Split == task.Split)
		if sameTask && f.Step == step && f.Times > 0 {
			f.Times--
			return f.Kind
		}
	}

	return ""
}

// Name returns the name of webtasks, so that the specifications of tests need no other environment.
func (s *Suite) Name() string { return "webtasks" }

// Family returns the mobile family.
func (s *Suite) Family() domain.Family { return domain.FamilyMobile }

// Title returns "scripted".
func (s *Suite) Title() string { return "scripted" }

// Splits returns the standard splits, and test-apps if the suite has apps.
func (s *Suite) Splits() []string {
	if s.Apps {
		return append(slices.Clone(domain.Splits), domain.SplitTestApps)
	}

	return domain.Splits
}

// Version returns the edition.
func (s *Suite) Version(context.Context) (string, error) { return s.Edition, nil }

// Templates returns the same names for every split except test-templates and test-apps, where seven have a prefix.
func (s *Suite) Templates(split string) ([]envadapters.Template, error) {
	if !slices.Contains(s.Splits(), split) {
		return nil, fault.New(fault.Invalid, "no split %q", split)
	}

	var out []envadapters.Template
	names := []string{"a", "b", "c", "d", "e", "f", "g"}
	if split != domain.SplitTestTemplates && split != domain.SplitTestApps {
		names = append(names, s.More...)
	}
	if split == domain.SplitTrain {
		names = append(names, s.Trained...)
	}
	for _, name := range names {
		if slices.Contains(s.Without, name) {
			continue
		}
		switch split {
		case domain.SplitTestTemplates:
			name = "held-" + name
		case domain.SplitTestApps:
			name = "app-" + name
		}
		out = append(out, envadapters.Template{Name: name, Group: "scripted", MaxSteps: s.length() + 2})
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

// Check reports that the suite is ready.
func (s *Suite) Check(context.Context) envadapters.Health {
	return envadapters.Health{State: envadapters.Ready, Detail: "scripted"}
}

// Close does nothing.
func (s *Suite) Close() error { return nil }

var _ envadapters.Suite = (*Suite)(nil)
