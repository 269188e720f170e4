package androidworld

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/acceptance"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/test/kit/fakephone"
)

// quick are the pool's limits for a fake whose faults last milliseconds.
var quick = limits{
	call:        60 * time.Millisecond,
	poll:        3 * time.Millisecond,
	backoff:     5 * time.Millisecond,
	maxBackoff:  40 * time.Millisecond,
	restarts:    6,
	quarantine:  50 * time.Millisecond,
	patience:    time.Minute,
	hang:        5 * time.Second,
	recycle:     25,
	maxMemory:   12000,
	templateMax: 3,
	voidRow:     2,
}

// calm are the quick limits for a fake that answers every call.
func calm() limits {
	l := quick
	l.call = 5 * time.Second

	return l
}

var tasks = []fakephone.Task{
	{Name: "OneTap", Group: "android_world", Steps: 10, Taps: 1},
	{Name: "TwoTaps", Group: "android_world", Steps: 10, Taps: 2},
	{Name: "ThreeTaps", Group: "android_world", Steps: 12, Taps: 3},
	{Name: "FourTapsOfThem", Group: "information_retrieval", Steps: 14, Taps: 4},
	{Name: "click-test", Group: "miniwob", Steps: 30, Taps: 1},
}

func entries() []entry {
	var out []entry
	for _, t := range tasks {
		out = append(out, entry{Name: t.Name, Group: group(t.Group), Steps: t.Steps, Subset: true})
	}

	return out
}

// phones starts n fake phones and a suite that plays on them.
func phones(t *testing.T, n, spare int, l limits, f fakephone.Faults) (*Suite, []*fakephone.Phone) {
	t.Helper()

	var all []*fakephone.Phone
	for i := range n {
		all = append(all, phone(t, f, uint64(i+1)))
	}

	return suiteOn(t, spare, l, all...), all
}

func phone(t *testing.T, f fakephone.Faults, seed uint64) *fakephone.Phone {
	t.Helper()

	p, err := fakephone.New(tasks, f, seed)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)

	return p
}

func suiteOn(t *testing.T, spare int, l limits, all ...*fakephone.Phone) *Suite {
	t.Helper()

	o := envadapters.Options{Spare: spare}
	for _, p := range all {
		o.Servers = append(o.Servers, p.URL())
	}
	s, err := open(o, l, entries())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })

	return s
}

// task returns a task of the split SplitAll.
func task(name string, seed uint64, steps int) domain.Task {
	return domain.Task{Suite: "androidworld", Template: name, Split: SplitAll, Seed: seed, MaxSteps: steps}
}

// play plays one episode to its end. With skill it reaches the goal. contaminated reports whether it saw traces of
// another episode.
func play(ctx context.Context, s *Suite, task domain.Task, skill bool) (
	score envadapters.Score, contaminated bool, err error) {
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

func TestAcceptance(t *testing.T) {
	s, ph := phones(t, 2, 0, calm(), fakephone.Faults{Boot: 10 * time.Millisecond})
	for _, r := range acceptance.Test(t, s, 0) {
		if r.Expert != acceptance.None || r.Replay != acceptance.None {
			t.Errorf("%s: the expert is %s, the replay %s, want none", r.Template, r.Expert, r.Replay)
		}
		if r.Screenshot == nil {
			t.Errorf("%s: got no screenshot, want one", r.Template)
		}
	}

	for _, x := range ph {
		for _, e := range x.Truths() {
			if !e.Over {
				t.Errorf("%+v is not torn down, want it torn down", e)
			}
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	const server = "ws://x/ws"
	for name, o := range map[string]envadapters.Options{
		"no server":       {},
		"another scheme":  {Servers: []string{"http://x"}},
		"spare only":      {Servers: []string{server}, Spare: 1},
		"a server twice":  {Servers: []string{server, server}},
		"an unknown task": {Servers: []string{server}, Without: []string{"Nope"}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := New(o); fault.KindOf(err) != fault.Invalid {
				t.Errorf("New(%+v) = %v, want an invalid fault", o, err)
			}
		})
	}
}

// nowhere returns a suite whose only companion does not answer.
func nowhere(t *testing.T, without ...string) *Suite {
	t.Helper()

	s, err := New(envadapters.Options{Servers: []string{"ws://127.0.0.1:1/ws"}, Without: without})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })

	return s
}

// templates returns the number of templates in a split.
func templates(t *testing.T, s *Suite, split string) int {
	t.Helper()

	ts, err := s.Templates(split)
	if err != nil {
		t.Fatal(err)
	}

	return len(ts)
}

func TestSplitsAreUpstreams(t *testing.T) {
	s := nowhere(t)
	for name, want := range map[string]int{
		SplitAll:       116,
		SplitAndroid:   91,
		SplitQuestions: 25,
		SplitMiniwob:   92,
		SplitMiniwob62: 62,
	} {
		if got := templates(t, s, name); got != want {
			t.Errorf("%s: %d templates, want %d", name, got, want)
		}
	}

	train, held := templates(t, s, domain.SplitTrain), templates(t, s, domain.SplitTestTemplates)
	if train+held != 116 || held < 15 {
		t.Errorf("%d + %d templates, want 116 in all and at least 15 held out", train, held)
	}

	sum, longest := 0, 0
	all, _ := s.Templates(SplitAll)
	for _, x := range all {
		sum += x.MaxSteps
		longest = max(longest, x.MaxSteps)
	}
	if longest != 120 || sum/116 != 20 {
		t.Errorf("budgets: mean %.1f, longest %d, want about 20 and 120", float64(sum)/116, longest)
	}
}

func TestTasksCanBeLeftOut(t *testing.T) {
	s := nowhere(t, "RetroPlayingQueue", "click-test")
	for split, want := range map[string]int{SplitAll: 115, SplitMiniwob: 91} {
		if got := templates(t, s, split); got != want {
			t.Errorf("%s without one task: %d templates, want %d", split, got, want)
		}
	}
}

func TestASuiteWithoutCompanionsIsDead(t *testing.T) {
	s := nowhere(t)
	if h := s.Check(t.Context()); h.State != envadapters.Dead || h.Fix == "" {
		t.Errorf("Check = %+v, want %s and a fix", h, envadapters.Dead)
	}

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := s.Open(ctx)
	if fault.KindOf(err) != fault.Transient || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("Open = %v, want a transient fault that says what does not answer", err)
	}
}
