// Package androidworld plays AndroidWorld (METHOD.md section 5) on emulators, each behind a companion (deploy/androidworld), over the wire profile collabui/1. It keeps a
// pool of them in good health.
package androidworld

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/openenv"
	"github.com/collabui/collabui/fault"
)

// Splits beside the standard ones, which are made of all android_world tasks.
const (
	SplitAll       = "android_world"         // all 116
	SplitAndroid   = "android"               // the 91 that change a state
	SplitQuestions = "information_retrieval" // the 25 that are answered
	SplitMiniwob   = "mobile-miniwob-92"     // MobileMiniWoB++, in AndroidWorld's app
	SplitMiniwob62 = "mobile-miniwob-62"     // its subset
)

//go:embed tasks.json
var table []byte

// Entry is a task of the registry: name, family and step budget, as upstream at commit d9c569f has them (written by `python -m collabui_companion tasks`).
type Entry struct {
	Name   string `json:"name"`
	Group  string `json:"group"` // android_world, information_retrieval or miniwob
	Steps  int    `json:"max_steps"`
	Subset bool   `json:"subset,omitempty"` // of miniwob: in the subset of 62
}

// Registry is the table of tasks.
var Registry = sync.OnceValue(func() []Entry {
	var out []Entry
	if err := json.Unmarshal(table, &out); err != nil {
		panic(err) // embedded
	}
	return out
})

// Suite plays the tasks of the registry on a pool of emulators.
type Suite struct {
	pool    *pool
	splits  map[string][]envadapters.Template
	servers []string
}

// New opens the pool: its slots are looked at in the background. Options: servers, the companions' ws:// addresses; spare, how many of them stand by (default 0); without, tasks to leave out, such as those that cannot be set up on these emulators.
func New(o envadapters.Options) (*Suite, error) { return open(o, usual, Registry()) }

func open(o envadapters.Options, p policy, tasks []Entry) (*Suite, error) {
	if len(o.Servers) == 0 {
		return nil, fault.New(fault.Invalid, "androidworld: servers: expected the address of at least one companion, such as ws://127.0.0.1:8001/ws")
	}
	for _, n := range o.Without {
		if !slices.ContainsFunc(tasks, func(e Entry) bool { return e.Name == n }) {
			return nil, fault.New(fault.Invalid, "androidworld: without: there is no task %q", n)
		}
	}
	tasks = slices.DeleteFunc(slices.Clone(tasks), func(e Entry) bool { return slices.Contains(o.Without, e.Name) })
	pool, err := newPool(o.Servers, o.Spare, p)
	if err != nil {
		return nil, err
	}
	return &Suite{pool: pool, splits: split(tasks), servers: o.Servers}, nil
}

// split makes the splits of a registry.
func split(tasks []Entry) map[string][]envadapters.Template {
	tasks = slices.SortedFunc(slices.Values(tasks), func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	out := map[string][]envadapters.Template{}
	var names []string
	for _, e := range tasks {
		if e.Group != "miniwob" {
			names = append(names, e.Name)
		}
	}
	train, _ := envadapters.HoldOut(names)
	for _, e := range tasks {
		t := envadapters.Template{Name: e.Name, Group: e.Group, MaxSteps: e.Steps}
		in := []string{SplitMiniwob}
		switch {
		case e.Group == "miniwob" && e.Subset:
			in = append(in, SplitMiniwob62)
		case e.Group == "miniwob":
		case slices.Contains(train, e.Name):
			in = []string{SplitAll, domain.SplitTrain, domain.SplitVal, domain.SplitTestSeeds}
		default:
			in = []string{SplitAll, domain.SplitTestTemplates}
		}
		switch e.Group {
		case "android_world":
			in = append(in, SplitAndroid)
		case "information_retrieval":
			in = append(in, SplitQuestions)
		}
		for _, s := range in {
			out[s] = append(out[s], t)
		}
	}
	return out
}

// Name is the suite's name in specifications.
func (s *Suite) Name() string { return "androidworld" }

// Title is the benchmark's name.
func (s *Suite) Title() string { return "AndroidWorld" }

// Family is the mobile action family.
func (s *Suite) Family() domain.Family { return domain.FamilyMobile }

// Splits are the standard ones and the families of the registry.
func (s *Suite) Splits() []string {
	return slices.DeleteFunc(append(slices.Clone(domain.Splits), SplitAll, SplitAndroid, SplitQuestions, SplitMiniwob62, SplitMiniwob), func(n string) bool { return len(s.splits[n]) == 0 })
}

// Templates lists a split's tasks by name.
func (s *Suite) Templates(name string) ([]envadapters.Template, error) {
	if len(s.splits[name]) == 0 {
		return nil, fault.New(fault.Invalid, "androidworld has no split %q; it has %s", name, strings.Join(s.Splits(), ", "))
	}
	return slices.Clone(s.splits[name]), nil
}

func (s *Suite) has(t domain.Task) bool {
	return slices.ContainsFunc(s.splits[t.Split], func(x envadapters.Template) bool { return x.Name == t.Template })
}

// Open leases a sound emulator; it waits for one.
func (s *Suite) Open(ctx context.Context) (envadapters.Environment, error) {
	e := &environment{suite: s}
	return e, e.connect(ctx)
}

// connect takes a slot and opens a session at its companion.
func (e *environment) connect(ctx context.Context) error {
	for {
		sl, err := e.suite.pool.take(ctx)
		if err != nil {
			return err
		}
		c, err := openenv.Dial(ctx, sl.url)
		if err == nil {
			c.Limit = e.suite.pool.p.call
			e.slot, e.conn, e.void = sl, c, nil
			return nil
		}
		e.suite.pool.give(sl, err)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// Figures of the pool now.
func (s *Suite) Figures() any { return s.pool.now() }

// Version is what the first companion that answers says of its android_world.
func (s *Suite) Version(ctx context.Context) (string, error) {
	d, err := s.describe(ctx)
	return d.Version, err
}

func (s *Suite) describe(ctx context.Context) (openenv.Description, error) {
	var d openenv.Description
	var err error
	for _, a := range s.servers {
		var c *openenv.Conn
		if c, err = openenv.Dial(ctx, a); err != nil {
			continue
		}
		err = c.Call(ctx, "state", nil, &d)
		c.Close()
		if err == nil {
			return d, nil
		}
	}
	return d, err
}

// Check waits up to 20 s until all slots were looked at and one is free, and compares the companions' tasks with the registry.
func (s *Suite) Check(ctx context.Context) envadapters.Health {
	d, err := s.describe(ctx)
	if err != nil {
		return envadapters.Health{State: envadapters.Dead, Detail: err.Error(), Fix: "start the companions (deploy/androidworld/README.md) and give their ws:// addresses under servers"}
	}
	s.pool.start()
	wait, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for f := s.pool.now(); (f.Free+f.Leased == 0 || strings.Contains(strings.Join(f.Why, " "), unseen)) && wait.Err() == nil; f = s.pool.now() {
		time.Sleep(50 * time.Millisecond)
	}
	f := s.pool.now()
	h := envadapters.Health{State: envadapters.Ready, Detail: "android_world " + d.Version + "; " + s.pool.say()}
	switch {
	case f.Free == 0 && f.Leased > 0:
		h.State = envadapters.Busy
	case f.Free == 0:
		h.State, h.Fix = envadapters.Dead, "look at the companions' /ready and logs"
	case f.Mending+f.Quarantined > 0 || len(f.Templates) > 0:
		h.State, h.Fix = envadapters.Degraded, "look at the companions' /ready and logs"
	}
	if diff := s.differ(d); diff != "" && h.State == envadapters.Ready {
		h.State, h.Detail = envadapters.Degraded, h.Detail+"; the companion's tasks are not the registry's: "+diff
		h.Fix = "use android_world at the registry's commit, or write envadapters/androidworld/tasks.json anew: python -m collabui_companion tasks"
	}
	return h
}

// differ names up to five tasks that the companion lacks or gives another budget.
func (s *Suite) differ(d openenv.Description) string {
	has := map[string]int{}
	for _, t := range d.Tasks {
		has[t.Name] = t.MaxSteps
	}
	seen, diff := map[string]bool{}, []string{}
	for _, ts := range s.splits {
		for _, t := range ts {
			if n, ok := has[t.Name]; !seen[t.Name] && (!ok || n != t.MaxSteps) {
				diff = append(diff, fmt.Sprintf("%s (budget %d, here %d)", t.Name, n, t.MaxSteps))
			}
			seen[t.Name] = true
		}
	}
	slices.Sort(diff)
	if len(diff) > 5 {
		diff = append(diff[:5], fmt.Sprintf("and %d more", len(diff)-5))
	}
	return strings.Join(diff, ", ")
}

// Close ends the pool; leases end with their environments.
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
