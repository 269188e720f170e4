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
	templates func(split string, ts []envadapters.Template) []envadapters.Template
	env       func(envadapters.Environment) envadapters.Environment
}

func (b *broken) Templates(split string) ([]envadapters.Template, error) {
	ts, err := b.Suite.Templates(split)
	if b.templates != nil && err == nil {
		ts = b.templates(split, ts)
	}
	return ts, err
}

func (b *broken) Open(ctx context.Context) (envadapters.Environment, error) {
	e, err := b.Suite.Open(ctx)
	if err == nil && b.env != nil {
		e = b.env(e)
	}
	return e, err
}

// hooked is an environment with some of its answers changed; its abilities stay.
type hooked struct {
	envadapters.Environment
	reset func(envadapters.Transition, error) (envadapters.Transition, error)
	step  func(domain.Action, func(domain.Action) (envadapters.Transition, error)) (envadapters.Transition, error)
	score func(envadapters.Score) envadapters.Score
	can   func(envadapters.Abilities) envadapters.Abilities
}

func (h *hooked) Reset(ctx context.Context, t domain.Task) (envadapters.Transition, error) {
	tr, err := h.Environment.Reset(ctx, t)
	if h.reset != nil {
		return h.reset(tr, err)
	}
	return tr, err
}

func (h *hooked) Step(ctx context.Context, a domain.Action) (envadapters.Transition, error) {
	real := func(a domain.Action) (envadapters.Transition, error) { return h.Environment.Step(ctx, a) }
	if h.step != nil {
		return h.step(a, real)
	}
	return real(a)
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

// TestEveryBrokenPromiseIsFound: one mutant for each rule, and what must be said of it.
func TestEveryBrokenPromiseIsFound(t *testing.T) {
	env := func(h hooked) func(envadapters.Environment) envadapters.Environment {
		return func(e envadapters.Environment) envadapters.Environment { x := h; x.Environment = e; return &x }
	}
	seen := func(f func(*envadapters.Transition)) func(envadapters.Environment) envadapters.Environment {
		return env(hooked{reset: func(tr envadapters.Transition, err error) (envadapters.Transition, error) {
			if err == nil {
				f(&tr)
			}
			return tr, err
		}})
	}
	type real = func(domain.Action) (envadapters.Transition, error)
	count := 0
	for want, b := range map[string]*broken{
		"are not sorted": {templates: func(_ string, ts []envadapters.Template) []envadapters.Template { slices.Reverse(ts); return ts }},
		"stands twice":   {templates: func(_ string, ts []envadapters.Template) []envadapters.Template { return append(ts[:1:1], ts...) }},
		"a budget of 0":  {templates: func(_ string, ts []envadapters.Template) []envadapters.Template { ts[0].MaxSteps = 0; return ts }},
		"is one of split train": {templates: func(_ string, ts []envadapters.Template) []envadapters.Template {
			return []envadapters.Template{{Name: "a", MaxSteps: 9}}
		}},
		`goal ""`:                          {env: seen(func(tr *envadapters.Transition) { tr.Goal = "" })},
		"over, rewarded":                   {env: seen(func(tr *envadapters.Transition) { tr.Reward = 1 })},
		"comes behind":                     {env: seen(func(tr *envadapters.Transition) { tr.Observation.Elements[1].Index = 0 })},
		"those of mobile suites have none": {env: seen(func(tr *envadapters.Transition) { tr.Observation.Elements[0].ID = "x" })},
		"as its target":                    {env: seen(func(tr *envadapters.Transition) { k := 99; tr.Observation.Elements[0].Target = &k })},
		"no UTF-8":                         {env: seen(func(tr *envadapters.Transition) { tr.Observation.Elements[0].Text = "\xff" })},
		"has bounds":                       {env: seen(func(tr *envadapters.Transition) { tr.Observation.Elements[0].Bounds[2] = -1 })},
		"begins another one": {env: env(hooked{reset: func(tr envadapters.Transition, err error) (envadapters.Transition, error) {
			if count++; err == nil {
				tr.Observation.Elements[0].Text += strings.Repeat("x", count)
			}
			return tr, err
		}})},
		"shows something else": {env: env(hooked{step: func(a domain.Action, f real) (envadapters.Transition, error) {
			count++
			tr, err := f(a)
			if err == nil {
				tr.Observation.Elements[0].Desc = strings.Repeat("x", count)
			}
			return tr, err
		}})},
		"is an error of the environment": {env: env(hooked{step: func(a domain.Action, f real) (envadapters.Transition, error) {
			if a.Index != nil && *a.Index > 100 {
				return envadapters.Transition{}, errors.New("index out of range")
			}
			return f(a)
		}})},
		"is not invalid": {env: env(hooked{step: func(a domain.Action, f real) (envadapters.Transition, error) {
			tr, err := f(a)
			tr.Invalid = ""
			return tr, err
		}})},
		"goes on behind its budget": {env: env(hooked{step: func(_ domain.Action, f real) (envadapters.Transition, error) {
			tr, err := f(domain.Action{Type: domain.ActionWait})
			tr.Terminated, tr.Truncated = false, false
			return tr, err
		}})},
		"both terminated and truncated": {env: env(hooked{step: func(a domain.Action, f real) (envadapters.Transition, error) {
			tr, err := f(a)
			tr.Truncated = tr.Truncated || tr.Terminated
			return tr, err
		}})},
		"a success has no reward": {env: env(hooked{step: func(a domain.Action, f real) (envadapters.Transition, error) {
			tr, err := f(a)
			tr.Reward = 0
			return tr, err
		}})},
		"a second score differs":    {env: env(hooked{score: func(s envadapters.Score) envadapters.Score { count++; s.Raw = float64(count); return s }})},
		"an idle episode has score": {env: env(hooked{score: func(s envadapters.Score) envadapters.Score { s.Success = true; return s }})},
		"behind the episode's end": {env: env(hooked{step: func(a domain.Action, f real) (envadapters.Transition, error) {
			tr, err := f(a)
			if fault.KindOf(err) == fault.Fatal {
				err = nil
			}
			return tr, err
		}})},
		"it is no PNG":    {env: env(hooked{can: func(a envadapters.Abilities) envadapters.Abilities { a.Screenshotter = picture{}; return a }})},
		"the judge knows": {env: env(hooked{can: func(a envadapters.Abilities) envadapters.Abilities { a.Expert = wrongExpert{}; return a }})},
		"is not at fault itself": {env: env(hooked{reset: func(tr envadapters.Transition, err error) (envadapters.Transition, error) {
			return tr, nilIf(err, envadapters.ErrTask)
		}})},
		"although their context has ended": {env: env(hooked{
			reset: func(tr envadapters.Transition, err error) (envadapters.Transition, error) {
				return tr, nilIf(err, context.Canceled)
			},
			step: func(domain.Action, real) (envadapters.Transition, error) {
				return envadapters.Transition{Invalid: "x"}, nil
			}})},
	} {
		found := Suite(t.Context(), b)
		task := domain.Task{Suite: "scripted", Template: "a", Split: domain.SplitTrain, Seed: 3, MaxSteps: 6}
		r, err := Task(t.Context(), b, task)
		found = append(found, r.Problems...)
		if err != nil {
			found = append(found, err.Error())
		}
		more, err := Faulty(t.Context(), b, task)
		if err != nil {
			found = append(found, err.Error())
		}
		if found = append(found, more...); !strings.Contains(strings.Join(found, "\n"), want) {
			t.Errorf("%s was not found, only %q", want, found)
		}
	}
	good := &broken{}
	r, err := Task(t.Context(), good, domain.Task{Suite: "scripted", Template: "a", Split: domain.SplitTrain, Seed: 3, MaxSteps: 6})
	if err != nil || len(r.Problems) > 0 || len(Suite(t.Context(), good)) > 0 {
		t.Errorf("%+v %v", r, err)
	}
}

func nilIf(err, target error) error {
	if errors.Is(err, target) {
		return nil
	}
	return err
}
