//go:build integration

package integration

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
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

// endurance plays episodes and counts how they end.
type endurance struct {
	t         *testing.T
	suite     envadapters.Suite
	templates []envadapters.Template
	episodes  int64

	next, voids, kills, won, failed atomic.Int64

	mu     sync.Mutex
	memory [4][]float64 // in MB, by quarter
}

// TestAThousandEpisodesOnTwoBrowsersThatAreKilled: a process of the browsers dies twice a second. No episode is lost,
// none is scored wrongly, memory does not grow. It kills any browser below this process, so it runs alone.
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

	e := &endurance{t: t, suite: s, templates: templates, episodes: 1000}
	stop := make(chan struct{})
	var killer, players sync.WaitGroup
	killer.Go(func() { e.killBrowsers(stop) })
	for range 4 {
		players.Go(e.play)
	}

	players.Wait()
	close(stop)
	killer.Wait()
	e.check()
}

// killBrowsers kills a random process of the browsers about twice a second.
func (e *endurance) killBrowsers(stop <-chan struct{}) {
	rng := rand.New(rand.NewPCG(4, 2))
	for {
		select {
		case <-stop:
			return
		case <-time.After(time.Duration(200+rng.IntN(500)) * time.Millisecond):
		}
		all := descendants(os.Getpid())
		of := slices.DeleteFunc(all, func(p process) bool { return !p.isBrowser() })
		if len(of) > 0 && syscall.Kill(of[rng.IntN(len(of))].pid, syscall.SIGKILL) == nil {
			e.kills.Add(1)
		}
	}
}

// skilled reports whether the expert plays an episode. Every third is given up.
func skilled(episode int64) bool { return episode%3 != 0 }

// play plays one episode after the other, each until it is not void.
func (e *endurance) play() {
	for {
		n := e.next.Add(1)
		if n > e.episodes {
			return
		}
		if n%8 == 0 {
			e.weigh(n)
		}
		x := e.templates[int(n)%len(e.templates)]
		task := domain.Task{
			Suite:    e.suite.Name(),
			Template: x.Name,
			Split:    domain.SplitTrain,
			Seed:     uint64(n),
			MaxSteps: x.MaxSteps,
		}

		ok, err := e.untilValid(task, skilled(n))
		if err != nil {
			e.t.Errorf("episode %d, %s: %v, want no error", n, x.Name, err)
		} else if ok != skilled(n) {
			e.t.Errorf("episode %d, %s: success = %v, want %v", n, x.Name, ok, skilled(n))
		}
		if ok {
			e.won.Add(1)
		} else {
			e.failed.Add(1)
		}
	}
}

func (e *endurance) untilValid(task domain.Task, skill bool) (bool, error) {
	for {
		ok, err := playOnce(e.t, e.suite, task, skill)
		kind := fault.KindOf(err)
		if kind == fault.Void || kind == fault.Transient && err != nil {
			e.voids.Add(1)
			continue
		}

		return ok, err
	}
}

func (e *endurance) weigh(episode int64) {
	mb, quarter := memory(e.t), (episode-1)*4/e.episodes
	e.mu.Lock()
	defer e.mu.Unlock()
	e.memory[quarter] = append(e.memory[quarter], mb)
}

// typical is the median of the memory by quarter: a browser that was just killed holds none, and one that takes the
// place of another may be counted together with it.
func (e *endurance) typical() (mb [4]float64) {
	for i, seen := range e.memory {
		slices.Sort(seen)
		mb[i] = seen[len(seen)/2]
	}

	return mb
}

func (e *endurance) check() {
	won, failed := e.won.Load(), e.failed.Load()
	if want := e.episodes - e.episodes/3; won != want {
		e.t.Errorf("%d episodes won, want %d", won, want)
	}

	if want := e.episodes / 3; failed != want {
		e.t.Errorf("%d episodes failed, want %d", failed, want)
	}

	if n := e.kills.Load(); n < 10 {
		e.t.Errorf("%d kills, want at least 10", n)
	}

	if e.voids.Load() == 0 {
		e.t.Error("no attempt was void, want some")
	}

	mb := e.typical()
	if limit := 1.4 * max(mb[0], mb[1]); mb[3] > limit {
		e.t.Errorf("memory by quarter = %.0f MB, want at most %.0f in the last", mb, limit)
	}

	e.t.Logf("%d episodes, %d kills, %d void attempts; %.0f MB by quarter",
		e.episodes, e.kills.Load(), e.voids.Load(), mb)
}

// playOnce plays an episode with the expert or, without skill, says immediately that it is done.
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
