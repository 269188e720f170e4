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

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/webtasks"
	"github.com/collabui/collabui/fault"
)

// endurance plays episodes and counts their outcomes.
type endurance struct {
	t         *testing.T
	suite     envadapters.Suite
	templates []envadapters.Template

	last, next, voids, kills, won, failed atomic.Int64
	killing                               atomic.Bool

	mu   sync.Mutex
	rng  *rand.Rand
	most float64 // memory in MB
}

// TestEpisodesOnTwoBrowsersThatAreKilled kills a process of the browsers at every third of 240 episodes, four of which
// are played at a time. No episode is lost or scored wrongly, and memory does not grow. The test kills any browser
// below this process, so it runs alone.
func TestEpisodesOnTwoBrowsersThatAreKilled(t *testing.T) {
	s, err := webtasks.New(envadapters.Options{}, 2, 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	templates, err := s.Templates(domain.SplitTrain)
	if err != nil {
		t.Fatal(err)
	}

	e := &endurance{t: t, suite: s, templates: templates, rng: rand.New(rand.NewPCG(4, 2))}
	before := e.undisturbed()
	e.killing.Store(true)
	during := e.play(240)
	e.killing.Store(false)
	e.check()

	after := e.undisturbed()
	if limit := 1.4 * before; max(during, after) > limit {
		t.Errorf("memory = %.0f MB during the kills and %.0f after them, want at most %.0f", during, after, limit)
	}
	t.Logf("memory: %.0f MB before the kills, at most %.0f during them, %.0f after them", before, during, after)
}

// undisturbed plays some episodes on new browsers that nothing kills, and returns the largest memory in MB.
func (e *endurance) undisturbed() float64 {
	for _, p := range chromium() {
		_ = syscall.Kill(p.pid, syscall.SIGKILL)
	}

	return e.play(40)
}

// chromium lists the browser processes below this one.
func chromium() []process {
	return slices.DeleteFunc(descendants(os.Getpid()), func(p process) bool { return !p.isBrowser() })
}

// killBrowser kills a random process of the browsers.
func (e *endurance) killBrowser() {
	e.mu.Lock()
	defer e.mu.Unlock()
	of := chromium()
	if len(of) > 0 && syscall.Kill(of[e.rng.IntN(len(of))].pid, syscall.SIGKILL) == nil {
		e.kills.Add(1)
	}
}

// play plays more episodes, four at a time, and returns the largest memory in MB.
func (e *endurance) play(more int64) float64 {
	e.most = 0
	e.next.Store(e.last.Load())
	e.last.Add(more)
	var players sync.WaitGroup
	for range 4 {
		players.Go(e.player)
	}
	players.Wait()

	return e.most
}

// skilled reports whether the expert plays an episode. In every third one, the agent gives up.
func skilled(episode int64) bool { return episode%3 != 0 }

// player plays one episode after the other, each until it is not void.
func (e *endurance) player() {
	for {
		n := e.next.Add(1)
		if n > e.last.Load() {
			return
		}
		if n%8 == 0 {
			e.weigh()
		}
		if n%3 == 0 && e.killing.Load() {
			e.killBrowser()
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

func (e *endurance) weigh() {
	mb := memory(e.t)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.most = max(e.most, mb)
}

func (e *endurance) check() {
	won, failed, episodes := e.won.Load(), e.failed.Load(), e.last.Load()
	if want := episodes - episodes/3; won != want {
		e.t.Errorf("%d episodes won, want %d", won, want)
	}

	if want := episodes / 3; failed != want {
		e.t.Errorf("%d episodes failed, want %d", failed, want)
	}

	if n := e.kills.Load(); n < 40 {
		e.t.Errorf("%d kills, want at least 40", n)
	}

	if e.voids.Load() == 0 {
		e.t.Error("no attempt was void, want some")
	}
	e.t.Logf("%d episodes, %d kills, %d void attempts", episodes, e.kills.Load(), e.voids.Load())
}

// playOnce plays an episode with the expert or, without skill, declares at once that it is done.
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
