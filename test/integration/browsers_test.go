//go:build integration

package integration

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/webtasks"
	"github.com/collabui/collabui/fault"
)

// process is one of the machine.
type process struct {
	pid, parent int
	name        string
}

// descendants lists the living processes below one.
func descendants(of int) []process {
	var all []process
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, f := range stats {
		raw, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		at := strings.LastIndexByte(string(raw), ')')
		fields := strings.Fields(string(raw[at+1:]))
		if fields[0] == "Z" {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(f)))
		parent, _ := strconv.Atoi(fields[1])
		all = append(all, process{pid, parent, string(raw[strings.IndexByte(string(raw), '(')+1 : at])})
	}
	below, out := map[int]bool{of: true}, []process(nil)
	for grew := true; grew; {
		grew = false
		for _, p := range all {
			if below[p.parent] && !below[p.pid] {
				below[p.pid], grew = true, true
				out = append(out, p)
			}
		}
	}
	return out
}

// memory of this process and all below it, in MB: the shares of what they hold.
func memory(t *testing.T) float64 {
	t.Helper()
	sum := 0
	for _, p := range append(descendants(os.Getpid()), process{pid: os.Getpid()}) {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", p.pid))
		if err != nil {
			continue // it has just ended
		}
		for _, l := range strings.Split(string(raw), "\n") {
			if f := strings.Fields(l); len(f) > 1 && f[0] == "Pss:" {
				kb, _ := strconv.Atoi(f[1])
				sum += kb
			}
		}
	}
	return float64(sum) / 1024
}

// TestAThousandEpisodesOnTwoBrowsersThatAreKilled: a process of the browsers dies twice a second. No episode is lost, none is scored wrongly, memory stays.
func TestAThousandEpisodesOnTwoBrowsersThatAreKilled(t *testing.T) {
	s, err := webtasks.New(2, 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	templates, err := s.Templates(domain.SplitTrain)
	if err != nil {
		t.Fatal(err)
	}
	const episodes = 1000
	var next, voids, kills, won, failed atomic.Int64
	stop := make(chan struct{})
	var killer, players sync.WaitGroup
	killer.Go(func() {
		rng := rand.New(rand.NewPCG(4, 2))
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Duration(200+rng.IntN(500)) * time.Millisecond):
			}
			var of []process
			for _, p := range descendants(os.Getpid()) {
				if strings.HasPrefix(p.name, "chrom") {
					of = append(of, p)
				}
			}
			if len(of) > 0 && syscall.Kill(of[rng.IntN(len(of))].pid, syscall.SIGKILL) == nil {
				kills.Add(1)
			}
		}
	})
	var mu sync.Mutex
	var most [4]float64 // MB, by quarter: the most that was seen, for a browser that was just killed takes none
	for range 4 {
		players.Go(func() {
			for {
				n := next.Add(1)
				if n > episodes {
					return
				}
				if n%8 == 0 {
					m, quarter := memory(t), (n-1)*4/episodes
					mu.Lock()
					most[quarter] = max(most[quarter], m)
					mu.Unlock()
				}
				x := templates[int(n)%len(templates)]
				task := domain.Task{Suite: s.Name(), Template: x.Name, Split: domain.SplitTrain, Seed: uint64(n), MaxSteps: x.MaxSteps}
				for {
					ok, err := playOnce(t, s, task, n%3 != 0)
					if fault.KindOf(err) == fault.Void || fault.KindOf(err) == fault.Transient && err != nil {
						voids.Add(1)
						continue
					}
					if err != nil {
						t.Errorf("episode %d, %s: %v", n, x.Name, err)
					} else if ok != (n%3 != 0) {
						t.Errorf("episode %d, %s: success %v", n, x.Name, ok)
					}
					if ok {
						won.Add(1)
					} else {
						failed.Add(1)
					}
					break
				}
			}
		})
	}
	players.Wait()
	close(stop)
	killer.Wait()
	if won.Load()+failed.Load() != episodes || won.Load() != episodes-episodes/3 || kills.Load() < 10 || voids.Load() == 0 {
		t.Errorf("%d won and %d failed of %d; %d kills, %d void attempts", won.Load(), failed.Load(), episodes, kills.Load(), voids.Load())
	}
	if most[3] > 1.4*max(most[0], most[1]) {
		t.Errorf("memory grows: %.0f MB by quarter", most)
	}
	t.Logf("%d episodes, %d kills, %d void attempts; at most %.0f MB by quarter", episodes, kills.Load(), voids.Load(), most)
}

// playOnce plays an episode with the expert, or, without skill, says at once that it is done.
func playOnce(t *testing.T, s envadapters.Suite, task domain.Task, skill bool) (bool, error) {
	env, err := s.Open(t.Context())
	if err != nil {
		return false, err
	}
	defer env.Close(t.Context())
	tr, err := env.Reset(t.Context(), task)
	for err == nil && !tr.Terminated && !tr.Truncated {
		a := domain.Action{Type: domain.ActionStatus, GoalStatus: domain.StatusComplete}
		if skill {
			known, ok := envadapters.Can(env).Expert.Advise()
			if !ok {
				return false, fmt.Errorf("the expert knows no action")
			}
			a = known
		}
		tr, err = env.Step(t.Context(), a)
	}
	if err != nil {
		return false, err
	}
	sc, err := env.Score(t.Context())
	return sc.Success, err
}
