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

// cpuOf is the processor time of this process and its children that live, browsers in the main, in seconds.
func cpuOf() float64 {
	ticks := 0.0
	self := strconv.Itoa(os.Getpid())
	parent := map[string]string{}
	used := map[string]float64{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, f := range stats {
		raw, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		x := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
		pid := filepath.Base(filepath.Dir(f))
		user, _ := strconv.ParseFloat(x[11], 64)
		system, _ := strconv.ParseFloat(x[12], 64)
		parent[pid], used[pid] = x[1], user+system
	}
	for pid := range parent {
		for at := pid; at != "" && at != "0"; at = parent[at] {
			if at == self {
				ticks += used[pid]
				break
			}
		}
	}
	return ticks / 100 // USER_HZ
}

// BenchmarkThroughput prints environment steps per second, resets included, for some browsers and tabs, and what a step costs in processor time: of webtasks, and of the official
// MiniWoB++ pages where COLLABUI_MINIWOB names them.
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
	var steps, episodes atomic.Int64
	run := func(limit time.Duration) {
		end := time.Now().Add(limit)
		var wg sync.WaitGroup
		for k := range p.Browsers * p.Tabs {
			wg.Go(func() {
				env, err := s.Open(b.Context())
				if err != nil {
					b.Error(err)
					return
				}
				defer env.Close(b.Context())
				for n := k; time.Now().Before(end); n++ {
					t := ts[n%len(ts)]
					tr, err := env.Reset(b.Context(), domain.Task{Suite: s.Name(), Template: t.Name, Split: domain.SplitTrain, Seed: uint64(n), MaxSteps: t.MaxSteps})
					for err == nil && !tr.Terminated && !tr.Truncated {
						a, ok := envadapters.Can(env).Expert.Advise()
						if !ok {
							a = domain.Action{Type: domain.ActionStatus, GoalStatus: domain.StatusComplete}
						}
						tr, err = env.Step(b.Context(), a)
						steps.Add(1)
					}
					if err != nil {
						b.Error(err)
						return
					}
					episodes.Add(1)
				}
			})
		}
		wg.Wait()
	}
	run(2 * time.Second) // warm
	steps.Store(0)
	episodes.Store(0)
	cpu, began := cpuOf(), time.Now()
	run(8 * time.Second)
	took, cpu := time.Since(began).Seconds(), cpuOf()-cpu
	n := float64(steps.Load())
	note(fmt.Sprintf("%s, %d browsers with %d tabs", s.Title(), p.Browsers, p.Tabs), "%.1f steps/s, %.1f per core of %d, %.1f episodes/s, %.1f ms of processor time per step", n/took, n/cpu, runtime.NumCPU(), float64(episodes.Load())/took, 1000*cpu/n)
}
