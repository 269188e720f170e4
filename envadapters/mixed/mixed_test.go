package mixed_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/acceptance"
	"github.com/collabui/collabui/envadapters/mixed"
	"github.com/collabui/collabui/envadapters/scripted"
	"github.com/collabui/collabui/fault"
)

// webSuite is the scripted suite with web actions.
type webSuite struct{ scripted.Suite }

func (w *webSuite) Family() domain.Family { return domain.FamilyWeb }

func (w *webSuite) Open(ctx context.Context) (envadapters.Environment, error) {
	e, err := w.Suite.Open(ctx)

	return envadapters.Speaking(e, domain.FamilyMobile, domain.FamilyWeb), err
}

// suite mixes a suite of mobile actions with a suite of web actions. Each has one place.
func suite() (s *mixed.Suite, shop *scripted.Suite, desk *webSuite) {
	shop = &scripted.Suite{Edition: "3", Places: 1, Apps: true}
	desk = &webSuite{scripted.Suite{Places: 1, More: []string{"x/y"}}}

	return mixed.New(map[string]envadapters.Suite{"shop": shop, "desk": desk}), shop, desk
}

func TestTheMixedSuiteIsASuite(t *testing.T) {
	s, _, _ := suite()
	for _, r := range acceptance.Test(t, s, 0) {
		if r.Expert != acceptance.Solves || r.Replay != acceptance.Identical {
			t.Errorf("got %+v, want an expert that solves and an identical replay", r)
		}
	}
}

func TestEveryPartSpeaksTheFamilyOfTheAgents(t *testing.T) {
	s, _, _ := suite()
	for _, family := range []domain.Family{domain.FamilyMobile, domain.FamilyWeb} {
		for _, template := range []string{"shop/a", "desk/x/y", "desk/b"} {
			opened, err := s.Open(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			env := envadapters.Speaking(opened, s.Family(), family)
			task := domain.Task{Suite: "mixed", Template: template, Split: domain.SplitTrain, Seed: 1, MaxSteps: 9}
			if _, err := env.Reset(t.Context(), task); err != nil {
				t.Fatal(err)
			}

			a, ok := envadapters.Can(env).Expert.Advise()
			tr, err := env.Step(t.Context(), a)
			if !ok || !a.InFamily(family) || err != nil || tr.Invalid != "" {
				t.Errorf("%s with %s agents: the expert says %s, which is %q, %v; want an action of the family",
					template, family, a.JSON(), tr.Invalid, err)
			}
			env.Close(t.Context())
		}
	}
}

func TestPartsKeepTheirSplitsTemplatesAndVersions(t *testing.T) {
	s, _, _ := suite()
	var names []string
	templates, err := s.Templates(domain.SplitTrain)
	for _, x := range templates {
		names = append(names, x.Name)
	}
	want := "desk/a desk/b desk/c desk/d desk/e desk/f desk/g desk/x/y shop/a shop/b shop/c shop/d shop/e shop/f shop/g"
	if got := strings.Join(names, " "); err != nil || got != want || templates[0].Group != "desk/scripted" {
		t.Errorf("Templates = %s (%s), %v, want %s", got, templates[0].Group, err, want)
	}

	apps, err := s.Templates(domain.SplitTestApps)
	if err != nil || len(apps) != 7 || !strings.HasPrefix(apps[0].Name, "shop/") {
		t.Errorf("Templates of a split that one part has = %v, %v, want those of shop", apps, err)
	}
	if v, err := s.Version(t.Context()); v != "shop=3" || err != nil {
		t.Errorf("Version = %q, %v, want shop=3", v, err)
	}
	if got := s.Title(); got != "mixed (desk: scripted; shop: scripted)" {
		t.Errorf("Title = %q, want the titles of both", got)
	}
}

func TestAnEnvironmentReturnsItsPlaceWhenItPlaysAnotherPart(t *testing.T) {
	s, _, _ := suite()
	one, err := s.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	two, err := s.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	task := domain.Task{Template: "shop/a", Split: domain.SplitTrain, Seed: 1, MaxSteps: 9}
	other := domain.Task{Template: "desk/a", Split: domain.SplitTrain, Seed: 1, MaxSteps: 9}
	for i, x := range []struct {
		env  envadapters.Environment
		task domain.Task
	}{{one, task}, {two, other}, {one, other}} {
		ctx := t.Context()
		if i == 2 { // the place of desk is taken
			ended, cancel := context.WithCancel(ctx)
			cancel()
			if _, err := x.env.Reset(ended, x.task); !errors.Is(err, context.Canceled) {
				t.Errorf("Reset without a free place = %v, want it to wait until the context ends", err)
			}
			two.Close(ctx)
		}
		if _, err := x.env.Reset(ctx, x.task); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := two.Reset(t.Context(), task); err != nil { // the place of shop is free again
		t.Error(err)
	}
}

func TestTasksOfNoPartAreAtFault(t *testing.T) {
	s, _, _ := suite()
	for _, template := range []string{"a", "nowhere/a", "shop/unknown", ""} {
		env, err := s.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, err = env.Reset(t.Context(), domain.Task{Template: template, Split: domain.SplitTrain, MaxSteps: 3})
		if fault.KindOf(err) != fault.Invalid || !errors.Is(err, envadapters.ErrTask) {
			t.Errorf("Reset of %q = %v, want an invalid task", template, err)
		}
		env.Close(t.Context())
	}
}

// sick is a suite in a given state of health.
type sick struct {
	scripted.Suite
	envadapters.Health
}

func (s *sick) Check(context.Context) envadapters.Health { return s.Health }

func TestTheHealthIsThatOfTheSickestPart(t *testing.T) {
	order := []envadapters.HealthState{envadapters.Ready, envadapters.Busy, envadapters.Degraded, envadapters.Dead}
	for i, a := range order {
		for k, b := range order {
			s := mixed.New(map[string]envadapters.Suite{
				"a": &sick{Health: envadapters.Health{State: a, Detail: "one", Fix: "do this"}},
				"b": &sick{Health: envadapters.Health{State: b, Detail: "two"}},
			})
			got := s.Check(t.Context())
			want := order[max(i, k)]
			if got.State != want || !strings.Contains(got.Detail, "two") || got.Fix != "a: do this" {
				t.Errorf("Check of %s and %s = %+v, want %s with both details and the fix", a, b, got, want)
			}
		}
	}
}
