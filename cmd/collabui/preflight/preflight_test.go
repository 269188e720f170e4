package preflight

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/collabui/collabui/cmd/collabui/app"
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
