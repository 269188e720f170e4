package androidworld

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/acceptance"
	"github.com/collabui/collabui/envadapters/androidworld/fakephone"
	"github.com/collabui/collabui/fault"
)

// quick are the pool's times for a fake whose faults last milliseconds.
var quick = policy{call: 60 * time.Millisecond, poll: 3 * time.Millisecond, backoff: 5 * time.Millisecond, maxBackoff: 40 * time.Millisecond, restarts: 6, quarantine: 50 * time.Millisecond, patience: time.Minute, hang: 5 * time.Second,
	recycle: 25, maxMemory: 12000, templateMax: 3, voidRow: 2}

var tasks = []fakephone.Task{{Name: "OneTap", Group: "android_world", Steps: 10, Taps: 1}, {Name: "TwoTaps", Group: "android_world", Steps: 10, Taps: 2}, {Name: "ThreeTaps", Group: "android_world", Steps: 12, Taps: 3},
	{Name: "FourTapsOfThem", Group: "information_retrieval", Steps: 14, Taps: 4}, {Name: "click-test", Group: "miniwob", Steps: 30, Taps: 1}}

func entries() []Entry {
	var out []Entry
	for _, t := range tasks {
		out = append(out, Entry{Name: t.Name, Group: t.Group, Steps: t.Steps, Subset: true})
	}
	return out
}

// phones starts n fakes and a suite on them.
func phones(t *testing.T, n, spare int, p policy, f fakephone.Faults) (*Suite, []*fakephone.Phone) {
	t.Helper()
	var all []*fakephone.Phone
	o := envadapters.Options{Spare: spare}
	for i := range n {
		ph, err := fakephone.New(tasks, f, uint64(i+1))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(ph.Close)
		all, o.Servers = append(all, ph), append(o.Servers, ph.URL())
	}
	s, err := open(o, p, entries())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, all
}

func TestAcceptance(t *testing.T) {
	p := quick
	p.call = 5 * time.Second
	s, ph := phones(t, 2, 0, p, fakephone.Faults{Boot: 10 * time.Millisecond})
	for _, r := range acceptance.Test(t, s, 0) {
		if r.Expert != acceptance.None || r.Replay != acceptance.None || r.Screenshot == nil {
			t.Errorf("%+v", r)
		}
	}
	for _, x := range ph {
		for _, e := range x.Truths() {
			if !e.Over {
				t.Errorf("not torn down: %+v", e)
			}
		}
	}
}

// play plays one episode to its end: with skill the goal is reached. contaminated says that something of another episode was seen.
func play(ctx context.Context, s *Suite, task domain.Task, skill bool) (score envadapters.Score, contaminated bool, err error) {
	env, err := s.Open(ctx)
	if err != nil {
		return score, false, err
	}
	defer env.Close(ctx)
	tr, err := env.Reset(ctx, task)
	if err != nil {
		return score, false, err
	}
	at := slices.IndexFunc(tasks, func(x fakephone.Task) bool { return x.Name == task.Template })
	buttons, want := fakephone.Screen(tasks[at], task.Seed)
	for n := 0; ; n++ {
		var seen []string
		for _, e := range tr.Observation.Elements {
			seen = append(seen, e.Text)
		}
		contaminated = contaminated || !slices.Equal(seen, buttons)
		if tr.Terminated || tr.Truncated {
			score, err = env.Score(ctx)
			return score, contaminated, err
		}
		a := domain.Action{Type: domain.ActionStatus, GoalStatus: domain.StatusComplete}
		if skill && n < len(want) {
			a = domain.Action{Type: domain.ActionClick}.At(2 * slices.Index(buttons, want[n])) // indices have gaps
		}
		if tr, err = env.Step(ctx, a); err != nil {
			return score, contaminated, err
		}
	}
}

// TestAThousandEpisodesWithFaultsOfEveryKind: none is contaminated, none is lost, none is scored wrongly; what was void is counted.
func TestAThousandEpisodesWithFaultsOfEveryKind(t *testing.T) {
	f := fakephone.Faults{Hang: 0.01, Offline: 0.004, Dirty: 0.02, A11y: 0.01, ADB: 0.005, Lies: 0.01, Init: map[string]float64{"TwoTaps": 0.05}, Hung: 90 * time.Millisecond, Gone: 30 * time.Millisecond,
		Boot: 15 * time.Millisecond, Latency: func() time.Duration { return time.Duration(rand.IntN(300)) * time.Microsecond }}
	p := quick
	p.templateMax = 1 << 30 // here every task can be set up in the end
	s, ph := phones(t, 4, 1, p, f)
	const episodes = 1000
	var next, void, contaminated, wrong atomic.Int64
	var wg sync.WaitGroup
	for range 6 { // more agents than emulators
		wg.Go(func() {
			for {
				n := next.Add(1)
				if n > episodes {
					return
				}
				task := domain.Task{Suite: "androidworld", Template: tasks[n%4].Name, Split: SplitAll, Seed: uint64(n), MaxSteps: 20}
				skill := n%3 != 0
				for {
					sc, dirty, err := play(t.Context(), s, task, skill)
					if dirty {
						contaminated.Add(1)
					}
					if err != nil {
						if k := fault.KindOf(err); k != fault.Void && k != fault.Transient {
							t.Errorf("episode %d: %v", n, err)
							return
						}
						void.Add(1)
						continue
					}
					if sc.Success != skill {
						wrong.Add(1)
						t.Errorf("episode %d: %+v", n, sc)
					}
					break
				}
			}
		})
	}
	wg.Wait()
	if contaminated.Load() != 0 || wrong.Load() != 0 {
		t.Errorf("%d contaminated, %d scored wrongly", contaminated.Load(), wrong.Load())
	}
	foreign, open, wins, stale := 0, 0, map[uint64]bool{}, 0
	for _, x := range ph {
		stale += x.Stale
		for _, e := range x.Truths() {
			foreign += e.Foreign
			if e.Success {
				wins[e.Seed] = true
			}
			if !e.Over {
				open++
			}
		}
	}
	for n := uint64(1); n <= episodes; n++ {
		if wins[n] != (n%3 != 0) {
			t.Errorf("episode %d: the phones say %v", n, wins[n])
		}
	}
	fig := s.pool.now()
	if foreign > 0 || void.Load() < 50 || fig.Restarts == 0 || fig.Recycled == 0 || stale == 0 {
		t.Errorf("%d foreign actions, %d void, %+v", foreign, void.Load(), fig)
	}
	t.Logf("%d episodes, %d void attempts, 0 contaminated; %d frames of expired leases refused; %s", episodes, void.Load(), stale, s.pool.say())
}

// TestWorkersShareEmulators: two pools over the same phones; nobody's lease is taken over, nobody's emulator is restarted.
func TestWorkersShareEmulators(t *testing.T) {
	p := quick
	p.call, p.recycle = 5*time.Second, 1<<30
	s, ph := phones(t, 3, 0, p, fakephone.Faults{Boot: time.Millisecond, Latency: func() time.Duration { return time.Duration(rand.IntN(400)) * time.Microsecond }})
	o := envadapters.Options{}
	for _, x := range ph {
		o.Servers = append(o.Servers, x.URL())
	}
	other, err := open(o, p, entries())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	var wg sync.WaitGroup
	for k := range 6 {
		wg.Go(func() {
			for n := range 40 {
				of := []*Suite{s, other}[k%2]
				sc, dirty, err := play(t.Context(), of, domain.Task{Template: tasks[n%4].Name, Split: SplitAll, Seed: uint64(100*k + n), MaxSteps: 20}, n%2 == 0)
				if err != nil || dirty || sc.Success != (n%2 == 0) {
					t.Errorf("%+v %v %v", sc, dirty, err)
				}
			}
		})
	}
	wg.Wait()
	for _, x := range ph {
		if x.Restarts != 0 || x.Stale != 0 {
			t.Errorf("%d restarts, %d stale frames", x.Restarts, x.Stale)
		}
	}
}

// TestAPoolThatNobodyPlaysOnLeavesTheEmulatorsAlone: a worker that only plans opens suites, too.
func TestAPoolThatNobodyPlaysOnLeavesTheEmulatorsAlone(t *testing.T) {
	s, ph := phones(t, 1, 0, quick, fakephone.Faults{})
	if _, err := s.Templates(SplitAll); err != nil {
		t.Fatal(err)
	}
	time.Sleep(20 * time.Millisecond)
	if ph[0].Asked() != 0 {
		t.Error("it was asked")
	}
}

func TestBusyIsNotDead(t *testing.T) {
	p := quick
	p.call = 200 * time.Millisecond
	s, ph := phones(t, 1, 0, p, fakephone.Faults{Hang: 1, Hung: time.Second, Boot: time.Millisecond})
	task := domain.Task{Template: "OneTap", Split: SplitAll, Seed: 1, MaxSteps: 5}
	if _, _, err := play(t.Context(), s, task, true); fault.KindOf(err) != fault.Void {
		t.Fatal(err)
	}
	began := time.Now()
	env, err := s.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer env.Close(t.Context())
	if tr, err := env.Reset(t.Context(), task); err != nil || len(tr.Observation.Elements) != 6 {
		t.Fatal(err)
	}
	if d := time.Since(began); d < 500*time.Millisecond || ph[0].Restarts != 0 {
		t.Errorf("the slot was used after %v, %d restarts: its call still ran", d, ph[0].Restarts)
	}
	if tr := ph[0].Truths(); len(tr) != 2 || tr[0].Foreign+tr[1].Foreign != 0 || ph[0].Stale != 1 {
		t.Errorf("%+v, %d stale", tr, ph[0].Stale)
	}
}

func TestACallThatHangsForTooLongIsEndedByARestart(t *testing.T) {
	p := quick
	p.call, p.hang = 200*time.Millisecond, 500*time.Millisecond
	s, ph := phones(t, 1, 0, p, fakephone.Faults{Hang: 1, Hung: time.Hour, Boot: time.Millisecond})
	task := domain.Task{Template: "OneTap", Split: SplitAll, Seed: 1, MaxSteps: 5}
	if _, _, err := play(t.Context(), s, task, true); fault.KindOf(err) != fault.Void {
		t.Fatal(err)
	}
	env, err := s.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer env.Close(t.Context())
	if _, err := env.Reset(t.Context(), task); err != nil || s.pool.now().Restarts != 1 {
		t.Errorf("%v, %+v", err, s.pool.now())
	}
	_ = ph
}

func TestATemplateThatFailsEverywhereIsQuarantinedAndASlotIsNot(t *testing.T) {
	p := quick
	p.call = 5 * time.Second
	s, _ := phones(t, 3, 0, p, fakephone.Faults{Never: map[string]bool{"TwoTaps": true}, Boot: time.Millisecond})
	task := domain.Task{Template: "TwoTaps", Split: SplitAll, Seed: 1, MaxSteps: 5}
	tries := 0
	var err error
	for tries = 1; tries < 50; tries++ {
		if _, _, err = play(t.Context(), s, task, true); errors.Is(err, envadapters.ErrTask) {
			break
		}
		if fault.KindOf(err) != fault.Void {
			t.Fatal(err)
		}
	}
	f := s.pool.now()
	if !errors.Is(err, envadapters.ErrTask) || tries < 4 || f.Restarts != 0 || f.Quarantined != 0 || !slices.Equal(f.Templates, []string{"TwoTaps"}) || f.Voids["TASK_INIT"] != tries-1 {
		t.Errorf("after %d tries %v; %+v", tries, err, f)
	}
	if _, _, err := play(t.Context(), s, domain.Task{Template: "OneTap", Split: SplitAll, Seed: 1, MaxSteps: 5}, true); err != nil {
		t.Error(err)
	}
	time.Sleep(2 * quick.quarantine)
	if _, _, err := play(t.Context(), s, task, true); errors.Is(err, envadapters.ErrTask) || err == nil {
		t.Errorf("behind its quarantine a template is tried again: %v", err)
	}
}

func TestASlotThatNoRestartMendsIsQuarantinedAndTheOthersGoOn(t *testing.T) {
	good, err := fakephone.New(tasks, fakephone.Faults{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer good.Close()
	bad, err := fakephone.New(tasks, fakephone.Faults{ADB: 1, Boot: time.Millisecond}, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer bad.Close()
	p := quick
	p.call, p.restarts, p.quarantine = 5*time.Second, 2, time.Hour
	bad.Break() // no probe succeeds any more
	s, err := open(envadapters.Options{Servers: []string{bad.URL(), good.URL()}}, p, entries())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	for n := range uint64(60) {
		if _, _, err := play(t.Context(), s, domain.Task{Template: "OneTap", Split: SplitAll, Seed: n, MaxSteps: 5}, true); err != nil {
			t.Fatal(err)
		}
	}
	for range 200 {
		if s.pool.now().Quarantined == 1 {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if f := s.pool.now(); f.Quarantined != 1 || bad.Restarts != 2 || len(f.Why) == 0 || !strings.Contains(strings.Join(f.Why, " "), "did not help") {
		t.Errorf("%+v after %d restarts", f, bad.Restarts)
	}
	if h := s.Check(t.Context()); h.State != envadapters.Degraded || h.Fix == "" {
		t.Error(h)
	}
}

func TestOptionsAndSplits(t *testing.T) {
	for _, o := range []envadapters.Options{{}, {Servers: []string{"http://x"}}, {Servers: []string{"ws://x/ws"}, Spare: 1}, {Servers: []string{"ws://x/ws", "ws://x/ws"}}, {Servers: []string{"ws://x/ws"}, Without: []string{"Nope"}}} {
		if _, err := New(o); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%+v: %v", o, err)
		}
	}
	s, err := New(envadapters.Options{Servers: []string{"ws://127.0.0.1:1/ws"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	counts := map[string]int{}
	for _, name := range s.Splits() {
		ts, err := s.Templates(name)
		if err != nil {
			t.Fatal(err)
		}
		counts[name] = len(ts)
	}
	for name, want := range map[string]int{SplitAll: 116, SplitAndroid: 91, SplitQuestions: 25, SplitMiniwob: 92, SplitMiniwob62: 62} {
		if counts[name] != want {
			t.Errorf("%s: %d templates, not %d", name, counts[name], want)
		}
	}
	if counts[domain.SplitTrain]+counts[domain.SplitTestTemplates] != 116 || counts[domain.SplitTestTemplates] < 15 {
		t.Error(counts)
	}
	sum, longest := 0, 0
	all, _ := s.Templates(SplitAll)
	for _, x := range all {
		sum += x.MaxSteps
		longest = max(longest, x.MaxSteps)
	}
	if longest != 120 || sum/116 != 20 {
		t.Errorf("budgets: mean %.1f, longest %d", float64(sum)/116, longest)
	}
	less, err := New(envadapters.Options{Servers: []string{"ws://127.0.0.1:1/ws"}, Without: []string{"RetroPlayingQueue", "click-test"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = less.Close() }()
	for split, n := range map[string]int{SplitAll: 115, SplitMiniwob: 91} {
		if ts, _ := less.Templates(split); len(ts) != n {
			t.Errorf("%s without one: %d", split, len(ts))
		}
	}
	if h := s.Check(t.Context()); h.State != envadapters.Dead || h.Fix == "" {
		t.Error(h)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := s.Open(ctx); fault.KindOf(err) != fault.Transient || !strings.Contains(fmt.Sprint(err), "does not answer") {
		t.Error(err)
	}
}
