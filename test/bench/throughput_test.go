//go:build integration

package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/workers/catalog"
)

// cpuOf returns the processor time in seconds of this process and its living descendants, which are mostly browsers.
func cpuOf() float64 {
	const userHZ = 100 // ticks per second
	self := strconv.Itoa(os.Getpid())
	parent, used := map[string]string{}, map[string]float64{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, f := range stats {
		raw, err := os.ReadFile(f)
		if err != nil {
			continue // it has just ended
		}
		x := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
		pid := filepath.Base(filepath.Dir(f))
		user, _ := strconv.ParseFloat(x[11], 64)
		system, _ := strconv.ParseFloat(x[12], 64)
		parent[pid], used[pid] = x[1], user+system
	}

	ticks := 0.0
	for pid := range parent {
		for at := pid; at != "" && at != "0"; at = parent[at] {
			if at == self {
				ticks += used[pid]
				break
			}
		}
	}

	return ticks / userHZ
}

// BenchmarkThroughput prints environment steps per second, resets included, for several numbers of browsers and tabs,
// and the processor time of a step: of webtasks, and of the official MiniWoB++ pages if COLLABUI_MINIWOB names them.
func BenchmarkThroughput(b *testing.B) {
	suites := []envadapters.Options{{Suite: "webtasks"}}
	if dir := os.Getenv("COLLABUI_MINIWOB"); dir != "" {
		suites = append(suites, envadapters.Options{Suite: "miniwob", Data: dir})
	}

	for _, o := range suites {
		for _, p := range []catalog.Places{{Browsers: 1, Tabs: 1}, {Browsers: 1, Tabs: 2}, {Browsers: 2, Tabs: 1}} {
			throughput(b, o, p)
		}
	}
}

func throughput(b *testing.B, o envadapters.Options, p catalog.Places) {
	s, err := catalog.OpenEnvironment(o, p)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	ts, err := s.Templates(domain.SplitTrain)
	if err != nil {
		b.Fatal(err)
	}

	m := &mill{b: b, suite: s, templates: ts}
	m.run(p.Browsers*p.Tabs, 2*time.Second) // warm
	m.steps.Store(0)
	m.episodes.Store(0)
	cpu, began := cpuOf(), time.Now()
	m.run(p.Browsers*p.Tabs, 8*time.Second)
	took, cpu := time.Since(began).Seconds(), cpuOf()-cpu

	n, episodes := float64(m.steps.Load()), float64(m.episodes.Load())
	note(fmt.Sprintf("%s, %d browsers with %d tabs", s.Title(), p.Browsers, p.Tabs),
		"%.1f steps/s, %.1f per core of %d, %.1f episodes/s, %.1f ms of processor time per step",
		n/took, n/cpu, runtime.NumCPU(), episodes/took, 1000*cpu/n)
}

// mill plays episodes with the expert and counts.
type mill struct {
	b               *testing.B
	suite           envadapters.Suite
	templates       []envadapters.Template
	steps, episodes atomic.Int64
}

// run plays in a number of places until the time is over.
func (m *mill) run(places int, limit time.Duration) {
	end := time.Now().Add(limit)
	var all sync.WaitGroup
	for first := range places {
		all.Go(func() {
			env, err := m.suite.Open(m.b.Context())
			if err != nil {
				m.b.Error(err)
				return
			}
			defer env.Close(m.b.Context())
			for n := first; time.Now().Before(end); n++ {
				if err := m.play(env, n); err != nil {
					m.b.Error(err)
					return
				}
			}
		})
	}

	all.Wait()
}

func (m *mill) play(env envadapters.Environment, n int) error {
	t := m.templates[n%len(m.templates)]
	tr, err := env.Reset(m.b.Context(), domain.Task{
		Suite:    m.suite.Name(),
		Template: t.Name,
		Split:    domain.SplitTrain,
		Seed:     uint64(n),
		MaxSteps: t.MaxSteps,
	})
	for err == nil && !tr.Terminated && !tr.Truncated {
		a, ok := envadapters.Can(env).Expert.Advise()
		if !ok {
			a = domain.Action{Type: domain.ActionStatus, GoalStatus: domain.StatusComplete}
		}
		tr, err = env.Step(m.b.Context(), a)
		m.steps.Add(1)
	}

	if err == nil {
		m.episodes.Add(1)
	}

	return err
}
