// Package androidworld plays AndroidWorld on emulators (docs/method.md). Each emulator is controlled by a companion
// (deploy/androidworld), which speaks the wire profile collabui/1. The package keeps a pool of emulators in good
// health.
//
// It links no browser driver. It links no Temporal.
package androidworld

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/openenv"
	"github.com/collabui/collabui/fault"
)

// Suite plays the tasks of the registry on a pool of emulators.
type Suite struct {
	pool    *pool
	splits  map[string][]envadapters.Template
	servers []string
}

// New returns a suite. It reads three options: servers contains the companions' ws:// addresses; spare is how many of
// them are kept in reserve (default 0); without lists tasks to leave out, such as tasks that cannot be set up on these
// emulators.
func New(options envadapters.Options) (*Suite, error) { return open(options, usualLimits, registry()) }

func open(options envadapters.Options, l limits, tasks []entry) (*Suite, error) {
	if len(options.Servers) == 0 {
		return nil, fault.New(fault.Invalid, "androidworld: servers: "+
			"expected the address of at least one companion, such as ws://127.0.0.1:8001/ws")
	}

	for _, name := range options.Without {
		if !slices.ContainsFunc(tasks, func(e entry) bool { return e.Name == name }) {
			return nil, fault.New(fault.Invalid, "androidworld: without: there is no task %q", name)
		}
	}
	without := func(e entry) bool { return slices.Contains(options.Without, e.Name) }
	tasks = slices.DeleteFunc(slices.Clone(tasks), without)

	pool, err := newPool(options.Servers, options.Spare, l)
	if err != nil {
		return nil, err
	}

	return &Suite{pool: pool, splits: split(tasks), servers: options.Servers}, nil
}

// Name returns the suite's name in specifications.
func (s *Suite) Name() string { return "androidworld" }

// Title returns the benchmark's name.
func (s *Suite) Title() string { return "AndroidWorld" }

// Family returns the mobile action family.
func (s *Suite) Family() domain.Family { return domain.FamilyMobile }

// Splits returns those standard splits and families of the registry that have tasks.
func (s *Suite) Splits() []string {
	all := append(slices.Clone(domain.Splits),
		SplitAll, SplitAndroid, SplitQuestions, SplitMiniwob62, SplitMiniwob)

	return slices.DeleteFunc(all, func(name string) bool { return len(s.splits[name]) == 0 })
}

// Templates lists the tasks of a split, sorted by name.
func (s *Suite) Templates(name string) ([]envadapters.Template, error) {
	if len(s.splits[name]) == 0 {
		return nil, fault.New(fault.Invalid, "androidworld has no split %q; it has %s",
			name, strings.Join(s.Splits(), ", "))
	}

	return slices.Clone(s.splits[name]), nil
}

func (s *Suite) has(task domain.Task) bool {
	named := func(template envadapters.Template) bool { return template.Name == task.Template }
	return slices.ContainsFunc(s.splits[task.Split], named)
}

// Open waits for a healthy emulator and leases it.
func (s *Suite) Open(ctx context.Context) (envadapters.Environment, error) {
	e := &environment{suite: s}
	return e, e.connect(ctx)
}

// Figures returns the figures of the pool.
func (s *Suite) Figures() any { return s.pool.snapshot() }

// Version returns the version of android_world that the first companion to answer reports.
func (s *Suite) Version(ctx context.Context) (string, error) {
	description, err := openenv.State(ctx, s.servers)
	return description.Version, err
}

// How long Check waits for the pool, and how often it looks.
const (
	checkLimit = 20 * time.Second
	checkPause = 50 * time.Millisecond
)

// Check waits up to 20 s until all slots have been inspected and one is free or leased. It also compares the
// companions' tasks with the registry.
func (s *Suite) Check(ctx context.Context) envadapters.Health {
	description, err := openenv.State(ctx, s.servers)
	if err != nil {
		return envadapters.Health{
			State:  envadapters.Dead,
			Detail: err.Error(),
			Fix: "start the companions (deploy/androidworld/README.md) " +
				"and put their ws:// addresses under servers",
		}
	}

	s.pool.start()
	wait, cancel := context.WithTimeout(ctx, checkLimit)
	defer cancel()
	for !s.pool.settled() && wait.Err() == nil {
		time.Sleep(checkPause)
	}

	figures := s.pool.snapshot()
	health := envadapters.Health{
		State:  envadapters.Ready,
		Detail: fmt.Sprintf("android_world %s; %s", description.Version, figures),
	}
	switch {
	case figures.Free == 0 && figures.Leased > 0:
		health.State = envadapters.Busy
	case figures.Free == 0:
		health.State = envadapters.Dead
		health.Fix = "look at the companions' /ready and logs"
	case figures.Mending+figures.Quarantined > 0 || len(figures.Templates) > 0:
		health.State = envadapters.Degraded
		health.Fix = "look at the companions' /ready and logs"
	}

	if diff := s.differ(description); diff != "" && health.State == envadapters.Ready {
		health.State = envadapters.Degraded
		health.Detail += "; the companion's tasks differ from the registry's: " + diff
		health.Fix = "use android_world at the registry's commit, " +
			"or rewrite envadapters/androidworld/tasks.json with python -m collabui_companion tasks"
	}

	return health
}

// differ names up to five tasks that the companion lacks or has with another budget. It returns "" if there are none.
func (s *Suite) differ(description openenv.Description) string {
	const most = 5

	has := map[string]int{}
	for _, task := range description.Tasks {
		has[task.Name] = task.MaxSteps
	}

	var diff []string
	seen := map[string]bool{}
	for _, ts := range s.splits {
		for _, template := range ts {
			if n, ok := has[template.Name]; !seen[template.Name] && (!ok || n != template.MaxSteps) {
				diff = append(diff, fmt.Sprintf("%s (budget %d, here %d)", template.Name, n, template.MaxSteps))
			}
			seen[template.Name] = true
		}
	}

	slices.Sort(diff)
	if len(diff) > most {
		diff = append(diff[:most], fmt.Sprintf("and %d more", len(diff)-most))
	}

	return strings.Join(diff, ", ")
}

// Close stops the pool. Leases end with their environments.
func (s *Suite) Close() error {
	s.pool.close()
	return nil
}

var (
	_ envadapters.Suite         = (*Suite)(nil)
	_ envadapters.Versioned     = (*Suite)(nil)
	_ envadapters.Metered       = (*Suite)(nil)
	_ envadapters.Screenshotter = (*environment)(nil)
)
