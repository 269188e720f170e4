package episode_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/scripted"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/episode"
)

var (
	nothing = domain.Action{Type: domain.ActionNone}
	miss    = domain.Action{Type: domain.ActionClick}.At(99)
	errHook = errors.New("the hook failed")
)

// task returns a task of the scripted suite: tap four buttons in at most six steps.
func task() domain.Task {
	return domain.Task{Suite: "webtasks", Template: "a", Split: domain.SplitVal, Seed: 7, MaxSteps: 6}
}

// open opens an environment of a suite until the test ends.
func open(t *testing.T, s envadapters.Suite) envadapters.Environment {
	t.Helper()
	env, err := s.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { env.Close(context.Background()) })

	return env
}

// expert returns a Decide hook that takes an action that the environment's judge considers right.
func expert(env envadapters.Environment) func(context.Context, episode.Turn) (domain.Action, error) {
	return func(context.Context, episode.Turn) (domain.Action, error) { return episode.Right(env)[0], nil }
}

// alwaysDecide returns a Decide hook that takes the same action at every turn.
func alwaysDecide(a domain.Action) func(context.Context, episode.Turn) (domain.Action, error) {
	return func(context.Context, episode.Turn) (domain.Action, error) { return a, nil }
}

func TestAnEpisodeIsResetDecidedRememberedAndScored(t *testing.T) {
	env := open(t, &scripted.Suite{})
	var calls []string
	var turns []episode.Turn
	var last domain.Observation
	p := episode.Player{
		Begin: func(_ context.Context, tr envadapters.Transition) error {
			calls = append(calls, "begin")
			return nil
		},
		Decide: func(ctx context.Context, tn episode.Turn) (domain.Action, error) {
			calls, turns = append(calls, "decide"), append(turns, tn)
			return expert(env)(ctx, tn)
		},
		After: func(_ context.Context, e episode.Executed) error {
			calls, last = append(calls, "after"), e.After
			if reflect.DeepEqual(e.Observation, e.After) {
				t.Errorf("step %d: the screen after the step = %v, want another one than before it", e.Number, e.After)
			}
			return nil
		},
		Summarise: func(_ context.Context, e episode.Executed) (string, error) {
			calls = append(calls, "summarise")
			return "tapped", nil
		},
	}

	got, err := p.Play(t.Context(), env, task())
	if err != nil {
		t.Fatal(err)
	}
	want := episode.Played{Goal: turns[0].Goal, Outcome: domain.Outcome{Success: true, Steps: 4}, Last: last}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("Play = %+v, want %+v", got, want)
	}

	order := append([]string{"begin"}, slices.Repeat([]string{"decide", "after", "summarise"}, 4)...)
	if !slices.Equal(calls, order) {
		t.Errorf("hooks were called in the order %v, want %v", calls, order)
	}
	for i, tn := range turns {
		if tn.Number != i+1 || tn.Goal == "" || len(tn.Observation.Elements) != 7 {
			t.Errorf("turn %d = %+v, want its number, the goal and the screen", i+1, tn)
		}
		if want := slices.Repeat([]string{"tapped"}, i); !slices.Equal(tn.History, want) {
			t.Errorf("turn %d has the history %q, want %q", i+1, tn.History, want)
		}
	}
}

func TestAnEpisodeEndsAtItsStepBudget(t *testing.T) {
	env := open(t, &scripted.Suite{})
	got, err := episode.Player{Decide: alwaysDecide(miss)}.Play(t.Context(), env, task())
	if err != nil {
		t.Fatal(err)
	}

	want := domain.Outcome{Truncated: true, Steps: 6, Invalid: 6}
	if !reflect.DeepEqual(got.Outcome, want) {
		t.Errorf("Play = %+v, want %+v", got.Outcome, want)
	}
}

func TestErrStopEndsAnEpisodeWithoutAScore(t *testing.T) {
	env := open(t, &scripted.Suite{})
	var last domain.Observation
	p := episode.Player{Decide: func(ctx context.Context, tn episode.Turn) (domain.Action, error) {
		if last = tn.Observation; tn.Number == 3 {
			return domain.Action{}, episode.ErrStop
		}
		return expert(env)(ctx, tn)
	}}

	got, err := p.Play(t.Context(), env, task())
	if err != nil {
		t.Fatal(err)
	}
	want := episode.Played{Goal: got.Goal, Outcome: domain.Outcome{Steps: 2}, Stopped: true, Last: last}
	if !reflect.DeepEqual(got, want) || got.Goal == "" {
		t.Errorf("Play = %+v, want %+v with the goal", got, want)
	}
}

// rewriting changes an environment's responses to steps.
type rewriting struct {
	envadapters.Environment
	rewrite func(*envadapters.Transition)
}

func (r rewriting) Step(ctx context.Context, a domain.Action) (envadapters.Transition, error) {
	tr, err := r.Environment.Step(ctx, a)
	r.rewrite(&tr)

	return tr, err
}

func TestAnAnswerThatDoesNotParseIsInvalidAndAppearsInTheHistory(t *testing.T) {
	for name, c := range map[string]struct {
		action  domain.Action
		rewrite func(*envadapters.Transition)
		want    string // line of the history
	}{
		"the environment takes no action for an action": {
			nothing, func(tr *envadapters.Transition) { tr.Invalid = "" }, "1 none failed: no answer parsed",
		},
		"the environment's own reason is kept": {
			nothing, func(*envadapters.Transition) {}, "1 none failed: only click does anything here",
		},
		"an action that the environment refuses": {
			miss, func(*envadapters.Transition) {}, "1 click failed: no such button",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var history []string
			env := rewriting{open(t, &scripted.Suite{}), c.rewrite}
			p := episode.Player{Decide: func(_ context.Context, tn episode.Turn) (domain.Action, error) {
				history = tn.History
				if tn.Number == 2 {
					return domain.Action{}, episode.ErrStop
				}
				return c.action, nil
			}}

			got, err := p.Play(t.Context(), env, task())
			if err != nil {
				t.Fatal(err)
			}
			if got.Outcome.Invalid != 1 {
				t.Errorf("Play counted %d invalid steps, want 1", got.Outcome.Invalid)
			}
			if !slices.Equal(history, []string{c.want}) {
				t.Errorf("the history is %q, want %q", history, c.want)
			}
		})
	}
}

func TestAHistoryThatTheEnvironmentBringsReplacesThePlayers(t *testing.T) {
	brought := []string{"the first click", "the second click"}
	env := rewriting{open(t, &scripted.Suite{}), func(tr *envadapters.Transition) { tr.History = brought }}
	p := episode.Player{
		Decide: func(ctx context.Context, tn episode.Turn) (domain.Action, error) {
			want := brought
			if tn.Number == 1 {
				want = nil
			}
			if !slices.Equal(tn.History, want) {
				t.Errorf("turn %d has the history %q, want %q", tn.Number, tn.History, want)
			}
			return miss, nil
		},
		Summarise: func(_ context.Context, e episode.Executed) (string, error) {
			t.Errorf("Summarise was called for step %d, want it never", e.Number)
			return "", nil
		},
	}

	if _, err := p.Play(t.Context(), env, task()); err != nil {
		t.Fatal(err)
	}
}

func TestWhereAnActionReachedTheScreenIsToldWithTheNextTurn(t *testing.T) {
	steps := 0
	env := rewriting{open(t, &scripted.Suite{}), func(tr *envadapters.Transition) {
		steps++
		tr.Touch = &domain.Touch{At: [2]int{steps, 0}}
	}}
	p := episode.Player{Decide: func(ctx context.Context, tn episode.Turn) (domain.Action, error) {
		if tn.Number == 1 && tn.Touch != nil || tn.Number > 1 && tn.Touch.At[0] != tn.Number-1 {
			t.Errorf("turn %d says that the action before reached %v, want the place of step %d", tn.Number, tn.Touch,
				tn.Number-1)
		}
		return miss, nil
	}}

	got, err := p.Play(t.Context(), env, task())
	if err != nil || got.Touch == nil || got.Touch.At[0] != got.Outcome.Steps {
		t.Errorf("the last action reached %v (%v), want the place of step %d", got.Touch, err, got.Outcome.Steps)
	}
}

func TestAnErrorOfAHookEndsTheEpisode(t *testing.T) {
	second := func(number int) error {
		if number == 2 {
			return errHook
		}
		return nil
	}

	for name, c := range map[string]struct {
		hook  func(*episode.Player)
		steps int // steps that count as played
	}{
		"begin": {func(p *episode.Player) {
			p.Begin = func(context.Context, envadapters.Transition) error { return errHook }
		}, 0},
		"decide": {func(p *episode.Player) {
			p.Decide = func(_ context.Context, tn episode.Turn) (domain.Action, error) {
				return miss, second(tn.Number)
			}
		}, 1},
		"after": {func(p *episode.Player) {
			p.After = func(_ context.Context, e episode.Executed) error { return second(e.Number) }
		}, 1},
		"summarise": {func(p *episode.Player) {
			p.Summarise = func(_ context.Context, e episode.Executed) (string, error) { return "", second(e.Number) }
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			p := episode.Player{Decide: alwaysDecide(miss)}
			c.hook(&p)

			got, err := p.Play(t.Context(), open(t, &scripted.Suite{}), task())
			if !errors.Is(err, errHook) {
				t.Errorf("Play returned the error %v, want %v", err, errHook)
			}
			if got.Goal == "" || got.Outcome.Steps != c.steps || got.Stopped {
				t.Errorf("Play = %+v, want the goal and %d steps", got, c.steps)
			}
		})
	}
}

func TestAnErrorOfTheEnvironmentEndsTheEpisode(t *testing.T) {
	for name, c := range map[string]struct {
		step  int // step at which the environment breaks; 0 means its reset
		how   scripted.Misbehaviour
		want  fault.Kind
		steps int // steps that count as played
	}{
		"the reset breaks":      {0, scripted.Void, fault.Void, 0},
		"a step breaks":         {3, scripted.Void, fault.Void, 2},
		"the task is at fault":  {0, scripted.Invalid, fault.Invalid, 0},
		"a broken task in play": {1, scripted.Invalid, fault.Invalid, 0},
	} {
		t.Run(name, func(t *testing.T) {
			suite := &scripted.Suite{}
			suite.Break(scripted.Fault{Template: "a", Step: c.step, Kind: c.how, Times: 1})
			env := open(t, suite)
			p := episode.Player{Decide: expert(env)}

			got, err := p.Play(t.Context(), env, task())
			if fault.KindOf(err) != c.want || got.Outcome.Steps != c.steps {
				t.Errorf("Play = %d steps, %v; want %d steps and the fault %s", got.Outcome.Steps, err, c.steps, c.want)
			}

			again, err := p.Play(t.Context(), env, task())
			if err != nil || !again.Outcome.Success || again.Outcome.Steps != 4 {
				t.Errorf("Play again = %+v, %v; want a success in 4 steps", again.Outcome, err)
			}
		})
	}
}

func TestTheHistoryOfATurnIsNotOverwrittenByLaterTurns(t *testing.T) {
	env := open(t, &scripted.Suite{})
	var kept [][]string
	p := episode.Player{Decide: func(_ context.Context, tn episode.Turn) (domain.Action, error) {
		kept = append(kept, tn.History)
		return miss, nil
	}}
	if _, err := p.Play(t.Context(), env, task()); err != nil {
		t.Fatal(err)
	}

	const line = " click failed: no such button"
	for i, got := range kept {
		var want []string
		for n := range i {
			want = append(want, string(rune('1'+n))+line)
		}
		if !slices.Equal(got, want) {
			t.Errorf("turn %d has the history %q, want %q", i+1, strings.Join(got, "; "), strings.Join(want, "; "))
		}
	}
}
