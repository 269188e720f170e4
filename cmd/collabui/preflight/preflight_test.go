package preflight

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/collabui/collabui/activities/preflight"
	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store"
)

// overwriting is a store that ignores If-None-Match, or fails.
type overwriting struct {
	store.Memory
	fails error
}

func (o *overwriting) PutOnce(_ context.Context, key string, body []byte) (bool, error) {
	o.Damage(key, body)

	return true, o.fails
}

func TestNothingIsStartedOnAStoreThatOverwrites(t *testing.T) {
	for name, c := range map[string]struct {
		bucket  store.Keeper
		want    string
		warning bool
	}{
		"all is well":   {&store.Memory{}, "", false},
		"it overwrites": {&overwriting{}, "ignores If-None-Match", false},
		"a bad moment":  {&overwriting{fails: errors.New("a bad moment")}, "a bad moment", true},
	} {
		t.Run(name, func(t *testing.T) {
			found := storeObstacles(t.Context(), (&app.Session{Store: c.bucket}))
			if (len(found) == 0) != (c.want == "") {
				t.Fatalf("storeObstacles = %+v, want %q", found, c.want)
			}
			for _, o := range found {
				if !strings.Contains(o.Why, c.want) || o.Warning != c.warning {
					t.Errorf("storeObstacles = %+v, want %q, a warning: %v", o, c.want, c.warning)
				}
			}
		})
	}
}

func TestASilentServiceIsNoMistakeOfTheSpecification(t *testing.T) {
	silent := preflight.Obstacle{Where: "environment", Why: "the server does not respond", Transient: true}
	mistake := preflight.Obstacle{Where: "prompts.agent", Why: "there is no such file"}
	note := preflight.Obstacle{Where: "prompt", Why: "it is long", Warning: true}
	for name, c := range map[string]struct {
		found []preflight.Obstacle
		want  fault.Kind
	}{
		"a silent service":             {[]preflight.Obstacle{silent, note}, fault.Transient},
		"a mistake":                    {[]preflight.Obstacle{mistake, note}, fault.Invalid},
		"a mistake beside the service": {[]preflight.Obstacle{silent, mistake}, fault.Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			if err := refusal(&app.Session{App: &app.App{}}, "r", c.found); fault.KindOf(err) != c.want {
				t.Errorf("refusal = %v, of kind %v, want %v", err, fault.KindOf(err), c.want)
			}
		})
	}
	if err := refusal(&app.Session{App: &app.App{}}, "r", []preflight.Obstacle{note}); err != nil {
		t.Errorf("refusal of a warning = %v, want nil", err)
	}
}
