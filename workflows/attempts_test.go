package workflows_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/sdk/testsuite"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/scripted"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/test/kit/testrun"
	"github.com/collabui/collabui/workflows"
)

// forgetful is a suite whose environments cannot be brought back to where they were.
type forgetful struct{ *scripted.Suite }

func (f forgetful) Open(ctx context.Context) (envadapters.Environment, error) {
	e, err := f.Suite.Open(ctx)
	if err != nil {
		return nil, err
	}

	return struct {
		envadapters.Environment
		envadapters.Judge
	}{e, e.(envadapters.Judge)}, nil
}

func TestAnAttemptThatCannotBeResumedIsVoidAndTheNextBeginsAnew(t *testing.T) {
	t.Parallel()
	s := testrun.Tiny()
	task := planned(t, s, 4)
	breaks := scripted.Fault{Template: task.Template, Seed: task.Seed, Step: 2, Kind: scripted.Void, Times: 1}
	diverges := scripted.Fault{Template: task.Template, Seed: task.Seed, Step: 1, Kind: scripted.Diverge, Times: 1}

	for name, c := range map[string]struct {
		faults []scripted.Fault
		replay bool
		void   string // why the first attempt is void; empty: it is not
	}{
		"it replays":                    {[]scripted.Fault{breaks}, true, ""},
		"the replay shows other things": {[]scripted.Fault{diverges, breaks}, true, "another screen"},
		"it cannot replay":              {[]scripted.Fault{breaks}, false, "cannot be brought back"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := testrun.WithBase(t, s)
			r.Suite.Break(c.faults...)
			if !c.replay {
				r.Deps.Suites["webtasks"] = forgetful{r.Suite}
			}
			play(t, r)

			got := attempts(t, r, 4)
			if c.void != "" {
				if len(got) == 0 || !strings.Contains(got[0].Void, c.void) {
					t.Fatalf("the attempts = %+v, want a first one that is void because of %q", got, c.void)
				}
				got = got[1:]
			}
			if len(got) != 1 || got[0].Void != "" || got[0].Slot.Replacement != 0 {
				t.Errorf("the attempts after void ones = %+v, want one that is whole, of the planned task", got)
			}
		})
	}
}

// tally counts the requests to the policies.
type tally struct {
	chat.Model
	mu    sync.Mutex
	asked map[uint64]int // by seed
}

func (a *tally) Complete(ctx context.Context, r chat.Request) (chat.Response, error) {
	a.mu.Lock()
	a.asked[r.Seed]++
	a.mu.Unlock()

	return a.Model.Complete(ctx, r)
}

func TestWhatIsRecordedIsNotDecidedAgainInAnotherEnvironment(t *testing.T) {
	t.Parallel()
	s := testrun.Tiny()
	task := planned(t, s, 4)
	r := testrun.WithBase(t, s)
	r.Suite.Break(scripted.Fault{
		Template: task.Template, Seed: task.Seed, Step: 2, Kind: scripted.Void, Times: 1,
	})
	a := &tally{Model: r.Deps.Chat, asked: map[uint64]int{}}
	r.Deps.Chat = a
	play(t, r)

	slots, _, err := runs.Run(s.Name).Slots(1).Must(t.Context(), r.Bucket)
	if err != nil {
		t.Fatal(err)
	}
	for step := 1; step <= 2; step++ {
		for agent := range s.Agents {
			seed := domain.Seed(domain.Seed(slots.Slots[3].Seed, "step", step), "cell", agent, 0)
			if n := a.asked[seed]; n != 1 {
				t.Errorf("the environment broke, and agent %d was asked %d times in step %d, want once", agent, n, step)
			}
		}
	}
}

// restarting is a server of policies that does not answer its seventh to ninth request.
type restarting struct {
	chat.Model
	asked atomic.Int32
}

func (m *restarting) Complete(ctx context.Context, r chat.Request) (chat.Response, error) {
	if n := m.asked.Add(1); n >= 7 && n < 10 {
		return chat.Response{}, fault.New(fault.Transient, "connection refused")
	}

	return m.Model.Complete(ctx, r)
}

// TestAnEpisodeThatCannotReplayWaitsForItsPolicies: a server that restarts is no reason to give an emulator up.
func TestAnEpisodeThatCannotReplayWaitsForItsPolicies(t *testing.T) {
	t.Parallel()
	s := testrun.Tiny()
	s.Slots, s.Pairs.MinPairs = 1, 1
	r := testrun.WithBase(t, s)
	r.Deps.Suites["webtasks"] = forgetful{r.Suite}
	m := &restarting{Model: r.Deps.Chat}
	r.Deps.Chat = m
	play(t, r)
	if got := attempts(t, r, 1); len(got) != 1 || got[0].Void != "" || m.asked.Load() < 10 {
		t.Errorf("after %d requests the attempts = %+v, want one that is whole", m.asked.Load(), got)
	}
}

func TestVoidAttemptsAreKeptAndReplacementsCount(t *testing.T) {
	t.Parallel()
	s := testrun.Small()
	s.Epochs = 1
	bad := planned(t, s, 4)
	r := testrun.WithBase(t, s)
	r.Suite.Break(scripted.Fault{
		Template: bad.Template, Seed: bad.Seed, Step: 0, Kind: scripted.Invalid, Times: 1 << 30,
	})
	play(t, r)

	got := attempts(t, r, 4)
	if len(got) != 2 {
		t.Fatalf("slot 4 has %d attempts, want 2", len(got))
	}
	if !got[0].TaskBad {
		t.Errorf("the first attempt = %+v, want a task at fault", got[0])
	}
	if got[1].Slot.Replacement != 1 || got[1].Slot.Task == bad {
		t.Errorf("the second attempt plays %+v, want replacement 1 of %+v", got[1].Slot, bad)
	}
}

// TestATaskAtFaultIsMissingInATestAndNoFailure checks that it is reported and lowers no rate.
func TestATaskAtFaultIsMissingInATestAndNoFailure(t *testing.T) {
	t.Parallel()
	s := testrun.Tiny()
	s.Evaluation.TestTemplates = 7
	r := testrun.New(t, s)
	r.Suite.Break(scripted.Fault{Template: "held-c", Step: 0, Kind: scripted.Invalid, Times: 1 << 30})
	end := play(t, r)

	seen := 0
	for _, x := range end.Results {
		if x.Split != domain.SplitTestTemplates {
			continue
		}
		seen++
		if x.Missing != 1 || x.Episodes != 6 {
			t.Errorf("%s has %d episodes and %d missing ones, want 6 and 1", x.System, x.Episodes, x.Missing)
		}
	}
	if seen != 3 {
		t.Errorf("%d systems were tested on %s, want 3: %+v", seen, domain.SplitTestTemplates, end.Results)
	}
}

// TestUnseenAppsAreTestedWhereTheEnvironmentHasThem plays equal specifications in environments with and without them.
func TestUnseenAppsAreTestedWhereTheEnvironmentHasThem(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{"with": 3, "without": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := testrun.Tiny()
			s.Evaluation.TestApps = 5
			r := testrun.New(t, s)
			r.Suite.Apps = name == "with"
			end := play(t, r)

			seen := 0
			for _, x := range end.Results {
				if x.Split != domain.SplitTestApps {
					continue
				}
				seen++
				if x.Episodes != 5 {
					t.Errorf("%s has %d episodes, want 5", x.System, x.Episodes)
				}
			}
			if seen != want {
				t.Errorf("%d systems were tested on %s, want %d: %+v", seen, domain.SplitTestApps, want, end.Results)
			}
		})
	}
}

// taught is a suite whose environments know one action that helps, and not which actions are right.
type taught struct{ *scripted.Suite }

func (x taught) Open(ctx context.Context) (envadapters.Environment, error) {
	e, err := x.Suite.Open(ctx)
	if err != nil {
		return nil, err
	}

	return struct {
		envadapters.Environment
		envadapters.Expert
		envadapters.Replayable
	}{e, e.(envadapters.Expert), e.(envadapters.Replayable)}, nil
}

func TestAnExpertWithoutAJudgeDemonstrates(t *testing.T) {
	t.Parallel()
	s := testrun.Tiny()
	s.Credit = spec.CreditOutcome // nothing knows what is right
	r := testrun.New(t, s)
	r.Deps.Suites["webtasks"] = taught{r.Suite}
	play(t, r)

	if d := read(t, r, runs.Run(s.Name).Demonstration(0)); len(d.Pairs) != 4 {
		t.Errorf("%d steps were demonstrated, want 4", len(d.Pairs))
	}
}

func TestARunWhoseCriticCannotBeSaysSo(t *testing.T) {
	t.Parallel()
	r := testrun.New(t, testrun.Tiny())
	r.Deps.Suites["webtasks"] = taught{r.Suite}

	var last workflows.Status
	_, err := r.Play(t, func(env *testsuite.TestWorkflowEnvironment) {
		env.RegisterDelayedCallback(func() {
			last = status(t, env)
			send(t, env, workflows.UpdateStop, workflows.Command{Who: "test", Why: "seen"})
		}, time.Hour)
	})
	if err == nil {
		t.Error("the run ended without an error, want it stopped")
	}
	wantHeld(t, last, "has no judge")
}
