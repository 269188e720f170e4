package androidworld

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/openenv"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/test/kit/fakephone"
)

// upTo returns a function that draws a latency below n microseconds.
func upTo(n int) func() time.Duration {
	return func() time.Duration { return time.Duration(rand.IntN(n)) * time.Microsecond }
}

// TestAThousandEpisodesWithFaultsOfEveryKind expects that no episode is contaminated, lost or scored wrongly, and that
// void ones are counted.
func TestAThousandEpisodesWithFaultsOfEveryKind(t *testing.T) {
	const episodes = 1000

	f := fakephone.Faults{
		Hang:    0.01,
		Hung:    90 * time.Millisecond,
		Offline: 0.004,
		Gone:    30 * time.Millisecond,
		Dirty:   0.02,
		A11y:    0.01,
		ADB:     0.005,
		Boot:    15 * time.Millisecond,
		Lies:    0.01,
		Init:    map[string]float64{"TwoTaps": 0.05},
		Latency: upTo(300),
	}
	l := quick
	l.templateMax = 1 << 30 // every task can be set up in the end
	s, ph := phones(t, 4, 1, l, f)

	skilled := func(n uint64) bool { return n%3 != 0 }
	var next, void, contaminated atomic.Int64
	var wg sync.WaitGroup
	for range 6 { // more agents than emulators
		wg.Go(func() {
			for {
				n := uint64(next.Add(1))
				if n > episodes {
					return
				}

				sc, err := playUntilScored(t, s, n, skilled(n), &void, &contaminated)
				if err != nil {
					t.Errorf("episode %d: got %v, want void or transient faults only", n, err)
					return
				}
				if sc.Success != skilled(n) {
					t.Errorf("episode %d: score %+v, want success %v", n, sc, skilled(n))
				}
			}
		})
	}
	wg.Wait()

	if got := contaminated.Load(); got != 0 {
		t.Errorf("%d contaminated episodes, want none", got)
	}

	wins := map[uint64]bool{}
	foreign, stale := 0, 0
	for _, x := range ph {
		stale += x.Counts().Stale
		for _, e := range x.Truths() {
			foreign += e.Foreign
			if e.Success {
				wins[e.Seed] = true
			}
		}
	}
	for n := uint64(1); n <= episodes; n++ {
		if wins[n] != skilled(n) {
			t.Errorf("episode %d: the phones say %v, want %v", n, wins[n], skilled(n))
		}
	}

	fig := s.pool.snapshot()
	if foreign > 0 {
		t.Errorf("%d actions of other leases reached a phone, want none", foreign)
	}
	if void.Load() < 50 || fig.Restarts == 0 || fig.Recycled == 0 || stale == 0 {
		t.Errorf("%d void episodes, %d stale frames, %s, want at least 50 and some of everything",
			void.Load(), stale, fig)
	}
	t.Logf("%d episodes, %d void attempts, 0 contaminated; %d frames of expired leases refused; %s",
		episodes, void.Load(), stale, fig)
}

// playUntilScored repeats episode n while it is void.
func playUntilScored(t *testing.T, s *Suite, n uint64, skill bool, void, contaminated *atomic.Int64) (
	envadapters.Score, error) {
	x := task(tasks[n%4].Name, n, 20)
	for {
		sc, dirty, err := play(t.Context(), s, x, skill)
		if dirty {
			contaminated.Add(1)
		}

		k := fault.KindOf(err)
		if err == nil || k != fault.Void && k != fault.Transient {
			return sc, err
		}
		void.Add(1)
	}
}

// TestWorkersShareEmulators expects that neither of two pools on the same phones takes over a lease or restarts a
// leased emulator.
func TestWorkersShareEmulators(t *testing.T) {
	l := calm()
	l.recycle = 1 << 30
	s, ph := phones(t, 3, 0, l, fakephone.Faults{Boot: time.Millisecond, Latency: upTo(400)})
	other := suiteOn(t, 0, l, ph...)

	var wg sync.WaitGroup
	for k := range 6 {
		wg.Go(func() {
			of := []*Suite{s, other}[k%2]
			for n := range 40 {
				skill := n%2 == 0
				x := task(tasks[n%4].Name, uint64(100*k+n), 20)
				sc, dirty, err := play(t.Context(), of, x, skill)
				if err != nil || dirty || sc.Success != skill {
					t.Errorf("episode %d of agent %d: %+v, contaminated %v, %v, want success %v",
						n, k, sc, dirty, err, skill)
				}
			}
		})
	}
	wg.Wait()

	for _, x := range ph {
		if c := x.Counts(); c.Restarts != 0 || c.Stale != 0 {
			t.Errorf("%d restarts, %d stale frames, want none", c.Restarts, c.Stale)
		}
	}
}

// TestAnUnusedPoolLeavesTheEmulatorsAlone opens a suite without playing, as a worker that only plans does.
func TestAnUnusedPoolLeavesTheEmulatorsAlone(t *testing.T) {
	s, ph := phones(t, 1, 0, quick, fakephone.Faults{})
	if _, err := s.Templates(SplitAll); err != nil {
		t.Fatal(err)
	}

	time.Sleep(20 * time.Millisecond)
	if got := ph[0].Counts().Asked; got != 0 {
		t.Errorf("the phone was asked %d times, want never", got)
	}
}

// hung plays an episode whose call hangs and opens the next one.
func hung(t *testing.T, s *Suite, x domain.Task) envadapters.Environment {
	t.Helper()

	if _, _, err := play(t.Context(), s, x, true); fault.KindOf(err) != fault.Void {
		t.Fatalf("a call that hangs = %v, want a void fault", err)
	}

	env, err := s.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { env.Close(t.Context()) })

	return env
}

func TestBusyIsNotDead(t *testing.T) {
	l := quick
	l.call = 200 * time.Millisecond
	s, ph := phones(t, 1, 0, l, fakephone.Faults{Hang: 1, Hung: time.Second, Boot: time.Millisecond})
	x := task("OneTap", 1, 5)

	began := time.Now()
	env := hung(t, s, x)
	tr, err := env.Reset(t.Context(), x)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(tr.Observation.Elements); n != 6 {
		t.Errorf("%d elements, want 6", n)
	}

	c := ph[0].Counts()
	if d := time.Since(began); d < 700*time.Millisecond || c.Restarts != 0 {
		t.Errorf("the slot was used after %v and %d restarts, want it used when its call has ended", d, c.Restarts)
	}
	truths := ph[0].Truths()
	if len(truths) != 2 || c.Stale != 1 {
		t.Errorf("%d episodes, %d stale frames, want 2 and 1", len(truths), c.Stale)
	}
	for _, e := range truths {
		if e.Foreign != 0 {
			t.Errorf("%+v, want no action of another lease", e)
		}
	}
}

func TestARestartEndsACallThatHangsForTooLong(t *testing.T) {
	l := quick
	l.call, l.hang = 200*time.Millisecond, 500*time.Millisecond
	s, _ := phones(t, 1, 0, l, fakephone.Faults{Hang: 1, Hung: time.Hour, Boot: time.Millisecond})
	x := task("OneTap", 1, 5)

	env := hung(t, s, x)
	if _, err := env.Reset(t.Context(), x); err != nil {
		t.Fatal(err)
	}
	if f := s.pool.snapshot(); f.Restarts != 1 {
		t.Errorf("%d restarts, want 1: %s", f.Restarts, f)
	}
}

func TestATemplateThatFailsEverywhereIsQuarantinedAndASlotIsNot(t *testing.T) {
	s, _ := phones(t, 3, 0, calm(), fakephone.Faults{Never: map[string]bool{"TwoTaps": true}, Boot: time.Millisecond})
	x := task("TwoTaps", 1, 5)

	tries := 0
	var err error
	for tries = 1; tries < 50; tries++ {
		if _, _, err = play(t.Context(), s, x, true); errors.Is(err, envadapters.ErrTask) {
			break
		}
		if fault.KindOf(err) != fault.Void {
			t.Fatal(err)
		}
	}

	f := s.pool.snapshot()
	if !errors.Is(err, envadapters.ErrTask) || tries < 4 {
		t.Errorf("after %d tries: %v, want %v after at least 4", tries, err, envadapters.ErrTask)
	}
	if f.Restarts != 0 || f.Quarantined != 0 || !slices.Equal(f.Templates, []string{"TwoTaps"}) {
		t.Errorf("the pool: %s, want TwoTaps in quarantine and nothing else", f)
	}
	if got := f.Voids[openenv.CodeTaskInit]; got != tries-1 {
		t.Errorf("%d void episodes, want %d", got, tries-1)
	}

	if _, _, err := play(t.Context(), s, task("OneTap", 1, 5), true); err != nil {
		t.Errorf("another template: %v, want no error", err)
	}
	time.Sleep(2 * quick.quarantine)
	if _, _, err := play(t.Context(), s, x, true); errors.Is(err, envadapters.ErrTask) || err == nil {
		t.Errorf("after its quarantine: %v, want the template to be tried again", err)
	}
}

func TestASlotThatNoRestartMendsIsQuarantinedAndTheOthersGoOn(t *testing.T) {
	good := phone(t, fakephone.Faults{}, 1)
	bad := phone(t, fakephone.Faults{ADB: 1, Boot: time.Millisecond}, 2)
	bad.Break() // no probe succeeds any more
	l := calm()
	l.restarts, l.quarantine = 2, time.Hour
	s := suiteOn(t, 0, l, bad, good)

	for n := range uint64(60) {
		if _, _, err := play(t.Context(), s, task("OneTap", n, 5), true); err != nil {
			t.Fatal(err)
		}
	}

	for range 200 {
		if s.pool.snapshot().Quarantined == 1 {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	f := s.pool.snapshot()
	if n := bad.Counts().Restarts; f.Quarantined != 1 || n != 2 {
		t.Errorf("%s after %d restarts, want one slot in quarantine after 2", f, n)
	}
	if why := strings.Join(f.Why, " "); !strings.Contains(why, "did not help") {
		t.Errorf("the reason is %q, want that restarts did not help", why)
	}

	if h := s.Check(t.Context()); h.State != envadapters.Degraded || h.Fix == "" {
		t.Errorf("Check = %+v, want %s and a fix", h, envadapters.Degraded)
	}
}
