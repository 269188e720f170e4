package events

import (
	"reflect"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/collabui/collabui/envadapters"
)

// TestWorkersComeAndGo checks that a worker is present until it ends, or sends no report for too long.
func TestWorkersComeAndGo(t *testing.T) {
	t.Parallel()
	server := miniredis.RunT(t)
	s := Over(redis.NewClient(&redis.Options{Addr: server.Addr()}))
	a := Worker{
		ID: "1@host", Roles: []string{"rollout"},
		Servers: []envadapters.Server{{Address: "ws://x", State: envadapters.Dead, Detail: "gone"}},
	}
	b := Worker{ID: "2@host", Roles: []string{"gpu"}}
	s.Present(b)
	s.Present(a)
	if got := s.Workers(t.Context()); len(got) != 2 || !reflect.DeepEqual(got[0], a) || got[1].ID != b.ID {
		t.Errorf("Workers = %+v, want %+v and %+v", got, a, b)
	}
	s.Absent(a.ID)
	if got := s.Workers(t.Context()); len(got) != 1 || got[0].ID != b.ID {
		t.Errorf("Workers after one ended = %+v, want %+v alone", got, b)
	}
	server.FastForward(PresenceKept + time.Second)
	if got := s.Workers(t.Context()); len(got) != 0 {
		t.Errorf("Workers after a long silence = %+v, want none", got)
	}
	server.Close()
	s.Present(a)
	if got := s.Workers(t.Context()); got != nil {
		t.Errorf("Workers without Redis = %+v, want none", got)
	}
}
