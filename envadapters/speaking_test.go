package envadapters_test

import (
	"context"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/acceptance"
	"github.com/collabui/collabui/envadapters/scripted"
)

// webSuite is the scripted suite for agents that use web actions.
type webSuite struct{ scripted.Suite }

func (w *webSuite) Family() domain.Family { return domain.FamilyWeb }

func (w *webSuite) Open(ctx context.Context) (envadapters.Environment, error) {
	e, err := w.Suite.Open(ctx)

	return envadapters.Speaking(e, domain.FamilyMobile, domain.FamilyWeb), err
}

var task = domain.Task{Template: "a", Split: domain.SplitTrain, Seed: 1, MaxSteps: 5}

// reset opens an environment and returns it with the ID of its fourth element.
func reset(t *testing.T, env envadapters.Environment) (id string) {
	t.Helper()
	tr, err := env.Reset(t.Context(), task)
	if err != nil {
		t.Fatal(err)
	}

	return tr.Observation.Elements[3].ID
}

func open(t *testing.T) envadapters.Environment {
	t.Helper()
	env, err := (&webSuite{}).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	return env
}

func TestAgentsOfTheOtherFamilyPlayEverySuite(t *testing.T) {
	for _, r := range acceptance.Test(t, &webSuite{}, 3) {
		if r.Expert != acceptance.Solves || r.Replay != acceptance.Identical {
			t.Errorf("got %+v, want an expert that solves and an identical replay", r)
		}
	}
}

func TestActionsWithoutCounterpartAreInvalid(t *testing.T) {
	env := open(t)
	if id := reset(t, env); id != "3" {
		t.Fatalf("ID of the fourth element is %q, want its index 3", id)
	}

	for _, a := range []domain.Action{
		{Family: domain.FamilyWeb, Type: domain.ActionJumpTo, URL: "x"},
		{Family: domain.FamilyWeb, Type: domain.ActionClick, Element: "77"},
	} {
		t.Run(a.JSON(), func(t *testing.T) {
			tr, err := env.Step(t.Context(), a)
			if err != nil || tr.Invalid == "" {
				t.Errorf("Step = invalid %q, %v, want an invalid step", tr.Invalid, err)
			}
		})
	}
}

func TestTheExpertSpeaksTheFamilyOfTheAgents(t *testing.T) {
	// From mobile to web actions and back.
	env := envadapters.Speaking(open(t), domain.FamilyWeb, domain.FamilyMobile)
	if id := reset(t, env); id != "" {
		t.Fatalf("ID of the fourth element is %q, want none", id)
	}

	a, ok := envadapters.Can(env).Expert.Advise()
	if !ok || !a.InFamily(domain.FamilyMobile) {
		t.Fatalf("Advise() = %s, %v, want a mobile action", a.JSON(), ok)
	}
	if tr, err := env.Step(t.Context(), a); err != nil || tr.Invalid != "" {
		t.Errorf("Step(%s) = invalid %q, %v, want a valid step", a.JSON(), tr.Invalid, err)
	}
}
