package envadapters_test

import (
	"context"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/acceptance"
	"github.com/collabui/collabui/envadapters/scripted"
)

// web is the scripted suite for agents that speak web actions.
type web struct{ scripted.Suite }

func (w *web) Family() domain.Family { return domain.FamilyWeb }

func (w *web) Open(ctx context.Context) (envadapters.Environment, error) {
	e, err := w.Suite.Open(ctx)
	return envadapters.Speaking(e, domain.FamilyMobile, domain.FamilyWeb), err
}

func TestAgentsOfTheOtherFamilyPlayEverySuite(t *testing.T) {
	for _, r := range acceptance.Test(t, &web{}, 3) {
		if r.Expert != acceptance.Solves || r.Replay != acceptance.Identical {
			t.Errorf("%+v", r)
		}
	}
	env, err := (&web{}).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tr, err := env.Reset(t.Context(), domain.Task{Template: "a", Split: domain.SplitTrain, Seed: 1, MaxSteps: 5})
	if err != nil || tr.Observation.Elements[3].ID != "3" {
		t.Fatal(tr, err)
	}
	for _, a := range []domain.Action{{Family: domain.FamilyWeb, Type: domain.ActionJumpTo, URL: "x"}, {Family: domain.FamilyWeb, Type: domain.ActionClick, Element: "77"}} {
		if tr, err = env.Step(t.Context(), a); err != nil || tr.Invalid == "" {
			t.Errorf("%s: %+v %v", a.JSON(), tr, err)
		}
	}
	back := envadapters.Speaking(env, domain.FamilyWeb, domain.FamilyMobile) // and back again
	if tr, err = back.Reset(t.Context(), domain.Task{Template: "a", Split: domain.SplitTrain, Seed: 1, MaxSteps: 5}); err != nil || tr.Observation.Elements[3].ID != "" {
		t.Fatal(tr, err)
	}
	a, ok := envadapters.Can(back).Expert.Advise()
	if tr, err := back.Step(t.Context(), a); !ok || !a.InFamily(domain.FamilyMobile) || err != nil || tr.Invalid != "" {
		t.Errorf("%s: %+v %v", a.JSON(), tr, err)
	}
}
