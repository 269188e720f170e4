package play

import (
	"context"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters/scripted"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/picture"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store"
)

func TestAnEnvironmentWithoutScreenshotsIsRefused(t *testing.T) {
	env, err := (&scripted.Suite{}).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	look := func(ctx context.Context, kind agents.PresentationKind) (picture.Pictures, error) {
		given := spec.Default()
		given.Observation.Kind = kind

		return NewCamera(&store.Memory{}, given, env).Look(ctx, domain.Observation{}, agents.Config{})
	}
	if _, err := look(t.Context(), agents.AsBoth); fault.KindOf(err) != fault.Invalid {
		t.Errorf("Look = %v, want an invalid fault: the agents would see less than they have to", err)
	}
	if got, err := look(t.Context(), agents.AsText); err != nil || got.Whole.Digest != "" {
		t.Errorf("Look of agents that read text = %+v, %v; want no picture", got, err)
	}
}
