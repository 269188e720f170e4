package acceptance

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/scripted"
	"github.com/collabui/collabui/fault"
)

// broken is the scripted suite with one promise broken.
type broken struct {
	scripted.Suite
	templates func([]envadapters.Template) []envadapters.Template
	hooks     hooks
}

func (b *broken) Templates(split string) ([]envadapters.Template, error) {
	ts, err := b.Suite.Templates(split)
	if b.templates != nil && err == nil {
		ts = b.templates(ts)
	}

	return ts, err
}

func (b *broken) Open(ctx context.Context) (envadapters.Environment, error) {
	e, err := b.Suite.Open(ctx)
	if err != nil {
		return nil, err
	}

	return &hooked{Environment: e, hooks: b.hooks}, nil
}

// realStep is the environment's own Step, which a hook wraps.
type realStep = func(domain.Action) (envadapters.Transition, error)

// hooks change answers of an environment. A hook that is nil changes nothing.
type hooks struct {
	reset func(envadapters.Transition, error) (envadapters.Transition, error)
	step  func(domain.Action, realStep) (envadapters.Transition, error)
	score func(envadapters.Score) envadapters.Score
	can   func(envadapters.Abilities) envadapters.Abilities
}

// hooked is an environment with hooks. It has the abilities of the environment that it wraps.
type hooked struct {
	envadapters.Environment
	hooks
}

func (h *hooked) Reset(ctx context.Context, t domain.Task) (envadapters.Transition, error) {
	tr, err := h.Environment.Reset(ctx, t)
	if h.reset != nil {
		return h.reset(tr, err)
	}

	return tr, err
}

func (h *hooked) Step(ctx context.Context, a domain.Action) (envadapters.Transition, error) {
	step := func(a domain.Action) (envadapters.Transition, error) { return h.Environment.Step(ctx, a) }
	if h.step != nil {
		return h.step(a, step)
	}

	return step(a)
}

func (h *hooked) Score(ctx context.Context) (envadapters.Score, error) {
	s, err := h.Environment.Score(ctx)
	if h.score != nil {
		s = h.score(s)
	}

	return s, err
}

func (h *hooked) Abilities() envadapters.Abilities {
	a := envadapters.Can(h.Environment)
	if h.can != nil {
		a = h.can(a)
	}

	return a
}

type picture struct{}

func (picture) Screenshot(context.Context) ([]byte, error) { return []byte("GIF89a"), nil }

type wrongExpert struct{}

func (wrongExpert) Advise() (domain.Action, bool) {
	return domain.Action{Type: domain.ActionClick}.At(0), true
}

// atReset changes the first transition of an episode.
func atReset(change func(*envadapters.Transition)) *broken {
	return &broken{hooks: hooks{reset: func(tr envadapters.Transition, err error) (envadapters.Transition, error) {
		if err == nil {
			change(&tr)
		}
		return tr, err
	}}}
}

// atStep changes the transition of every step.
func atStep(change func(*envadapters.Transition)) *broken {
	return insteadOfStep(func(a domain.Action, step realStep) (envadapters.Transition, error) {
		tr, err := step(a)
		if err == nil {
			change(&tr)
		}
		return tr, err
	})
}

func insteadOfStep(step func(domain.Action, realStep) (envadapters.Transition, error)) *broken {
	return &broken{hooks: hooks{step: step}}
}

func ofTemplates(change func([]envadapters.Template) []envadapters.Template) *broken {
	return &broken{templates: change}
}

func ofScore(change func(envadapters.Score) envadapters.Score) *broken {
	return &broken{hooks: hooks{score: change}}
}

func ofAbilities(change func(*envadapters.Abilities)) *broken {
	return &broken{hooks: hooks{can: func(a envadapters.Abilities) envadapters.Abilities {
		change(&a)
		return a
	}}}
}

var task = domain.Task{Suite: "scripted", Template: "a", Split: domain.SplitTrain, Seed: 3, MaxSteps: 6}

func TestEveryBrokenPromiseIsFound(t *testing.T) {
	count := 0
	for want, suite := range map[string]*broken{
		"are not sorted": ofTemplates(func(ts []envadapters.Template) []envadapters.Template {
			slices.Reverse(ts)
			return ts
		}),
		"is twice in split": ofTemplates(func(ts []envadapters.Template) []envadapters.Template {
			return append(ts[:1:1], ts...)
		}),
		"a budget of 0": ofTemplates(func(ts []envadapters.Template) []envadapters.Template {
			ts[0].MaxSteps = 0
			return ts
		}),
		"is in split train, too": ofTemplates(func([]envadapters.Template) []envadapters.Template {
			return []envadapters.Template{{Name: "a", MaxSteps: 9}}
		}),

		`goal ""`:        atReset(func(tr *envadapters.Transition) { tr.Goal = "" }),
		"over, rewarded": atReset(func(tr *envadapters.Transition) { tr.Reward = 1 }),
		"comes after":    atReset(func(tr *envadapters.Transition) { tr.Observation.Elements[1].Index = 0 }),
		"those of mobile suites have none": atReset(func(tr *envadapters.Transition) {
			tr.Observation.Elements[0].ID = "x"
		}),
		"which does not exist": atReset(func(tr *envadapters.Transition) {
			missing := 99
			tr.Observation.Elements[0].Target = &missing
		}),
		"not UTF-8":  atReset(func(tr *envadapters.Transition) { tr.Observation.Elements[0].Text = "\xff" }),
		"has bounds": atReset(func(tr *envadapters.Transition) { tr.Observation.Elements[0].Bounds[2] = -1 }),
		"begins another one": atReset(func(tr *envadapters.Transition) {
			count++
			tr.Observation.Elements[0].Text += strings.Repeat("x", count)
		}),
		"has no ErrTask in its chain": {hooks: hooks{
			reset: func(tr envadapters.Transition, err error) (envadapters.Transition, error) {
				return tr, nilIf(err, envadapters.ErrTask)
			},
		}},
		"although their context has ended": {hooks: hooks{
			reset: func(tr envadapters.Transition, err error) (envadapters.Transition, error) {
				return tr, nilIf(err, context.Canceled)
			},
			step: func(domain.Action, realStep) (envadapters.Transition, error) {
				return envadapters.Transition{Invalid: "x"}, nil
			},
		}},

		"shows something else": atStep(func(tr *envadapters.Transition) {
			count++
			tr.Observation.Elements[0].Desc = strings.Repeat("x", count)
		}),
		"is not invalid": atStep(func(tr *envadapters.Transition) { tr.Invalid = "" }),
		"both terminated and truncated": atStep(func(tr *envadapters.Transition) {
			tr.Truncated = tr.Truncated || tr.Terminated
		}),
		"a success has no reward": atStep(func(tr *envadapters.Transition) { tr.Reward = 0 }),
		"is an error of the environment": insteadOfStep(
			func(a domain.Action, step realStep) (envadapters.Transition, error) {
				if a.Index != nil && *a.Index > 100 {
					return envadapters.Transition{}, errors.New("index out of range")
				}
				return step(a)
			}),
		"continues after its budget": insteadOfStep(
			func(_ domain.Action, step realStep) (envadapters.Transition, error) {
				tr, err := step(domain.Action{Type: domain.ActionWait})
				tr.Terminated, tr.Truncated = false, false
				return tr, err
			}),
		"after the episode's end": insteadOfStep(
			func(a domain.Action, step realStep) (envadapters.Transition, error) {
				tr, err := step(a)
				if fault.KindOf(err) == fault.Fatal {
					err = nil
				}
				return tr, err
			}),

		"a second score differs": ofScore(func(s envadapters.Score) envadapters.Score {
			count++
			s.Raw = float64(count)
			return s
		}),
		"an idle episode has score": ofScore(func(s envadapters.Score) envadapters.Score {
			s.Success = true
			return s
		}),
		"is not a PNG":    ofAbilities(func(a *envadapters.Abilities) { a.Screenshotter = picture{} }),
		"the judge knows": ofAbilities(func(a *envadapters.Abilities) { a.Expert = wrongExpert{} }),
	} {
		t.Run(want, func(t *testing.T) {
			if found := problemsOf(t, suite); !strings.Contains(strings.Join(found, "\n"), want) {
				t.Errorf("found %q, want a problem that says %q", found, want)
			}
		})
	}
}

// problemsOf returns the findings of all checks, errors included.
func problemsOf(t *testing.T, s envadapters.Suite) []string {
	t.Helper()
	found := Suite(t.Context(), s)

	r, err := Task(t.Context(), s, task)
	found = append(found, r.Problems...)
	if err != nil {
		found = append(found, err.Error())
	}

	more, err := Faulty(t.Context(), s, task)
	if err != nil {
		found = append(found, err.Error())
	}

	return append(found, more...)
}

func TestAnUnbrokenSuiteHasNoProblems(t *testing.T) {
	if found := problemsOf(t, &broken{}); len(found) > 0 {
		t.Errorf("found %q, want nothing", found)
	}
}

func nilIf(err, target error) error {
	if errors.Is(err, target) {
		return nil
	}
	return err
}
