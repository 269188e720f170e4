package collect_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store"
)

// slow is a store of which every request takes a random time, so that whoever uses it at once takes turns at random.
// Some requests fail, before or after they have had their effect. To some actors it does not show everything.
type slow struct {
	*store.Memory
	t       *testing.T
	seed    uint64
	guarded string // prefix of what nobody may delete

	mu    sync.Mutex
	asked map[string]int
	late  map[string]bool // objects that a read, and keys that a list, did not show once
	hits  *hits
}

// hits counts what struck.
type hits struct {
	mu                               sync.Mutex
	before, after, kills, done       int
	stale, omitted, cut, freezes     int
	undeleted, copied, again, passed int // actors that reached their ends
}

// count adds to a counter.
func (h *hits) count(n *int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	*n++
}

// actor is who makes requests, by the context.
type actor struct {
	from, till time.Time // of a time in which it is stopped, and its requests wait
	misled     bool      // whether it meets a store that does not show everything
}

type actorKey struct{}

// stopped waits while the actor is stopped.
func (s *slow) stopped(ctx context.Context) {
	a, ok := ctx.Value(actorKey{}).(*actor)
	if now := time.Now(); ok && now.After(a.from) && now.Before(a.till) {
		s.hits.count(&s.hits.freezes)
		time.Sleep(a.till.Sub(now))
	}
}

// misses reports whether an actor is not shown something, by chance, and at most once for each name.
func (s *slow) misses(ctx context.Context, name string, one int) bool {
	if a, ok := ctx.Value(actorKey{}).(*actor); !ok || !a.misled {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked[name]++
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, name, s.asked[name])
	if s.late[name] || domain.Rand(s.seed, h.Sum64()).IntN(one) > 0 {
		return false
	}
	s.late[name] = true

	return true
}

var errNetwork = fault.New(fault.Transient, "the network is down")

// turn waits for a random time and says whether the request fails before or after its effect.
func (s *slow) turn(ctx context.Context, key string) (before, after error) {
	s.stopped(ctx)
	s.mu.Lock()
	s.asked[key]++
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, key, s.asked[key])
	s.mu.Unlock()
	r := domain.Rand(s.seed, h.Sum64())
	select {
	case <-ctx.Done():
		return context.Cause(ctx), nil
	case <-time.After(time.Duration(1+r.IntN(500)) * time.Millisecond):
	}
	s.stopped(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx), nil
	}

	s.hits.mu.Lock()
	defer s.hits.mu.Unlock()
	switch r.IntN(300) {
	case 0:
		s.hits.before++

		return errNetwork, nil
	case 1:
		s.hits.after++

		return nil, errNetwork
	}

	return nil, nil
}

func (s *slow) PutOnce(ctx context.Context, key string, body []byte) (bool, error) {
	before, after := s.turn(ctx, "put "+key)
	if before != nil {
		return false, before
	}
	created, err := s.Memory.PutOnce(ctx, key, body)

	return created, errors.Join(err, after)
}

func (s *slow) Get(ctx context.Context, key string) ([]byte, error) {
	if before, _ := s.turn(ctx, "get "+key); before != nil {
		return nil, before
	}
	if s.misses(ctx, "get "+key, 4000) {
		s.hits.count(&s.hits.stale)

		return nil, fmt.Errorf("%s: %w", key, store.ErrNotFound)
	}

	return s.Memory.Get(ctx, key)
}

func (s *slow) Written(ctx context.Context, key string) (time.Time, error) {
	if before, _ := s.turn(ctx, "written "+key); before != nil {
		return time.Time{}, before
	}
	if s.misses(ctx, "get "+key, 40) {
		s.hits.count(&s.hits.stale)

		return time.Time{}, fmt.Errorf("%s: %w", key, store.ErrNotFound)
	}

	return s.Memory.Written(ctx, key)
}

func (s *slow) List(ctx context.Context, prefix string) ([]store.Ref, error) {
	all, err := s.Ages(ctx, prefix)
	out := make([]store.Ref, len(all))
	for i, o := range all {
		out[i] = o.Ref
	}

	return out, err
}

// Ages is a list that may leave out some keys, or the last ones: each key at most once.
func (s *slow) Ages(ctx context.Context, prefix string) ([]store.Aged, error) {
	if before, _ := s.turn(ctx, "list "+prefix); before != nil {
		return nil, before
	}
	all, err := s.Memory.Ages(ctx, prefix)
	one := 0
	switch {
	case s.misses(ctx, fmt.Sprint("cut ", len(all)), 30):
		s.hits.count(&s.hits.cut)
		one = 1
	case s.misses(ctx, fmt.Sprint("some ", len(all)), 6):
		one = 50
	default:
		return all, err
	}
	var out []store.Aged
	from := len(all) * int(s.seed%10) / 10
	for i, o := range all {
		if (one > 1 || i >= from) && s.misses(ctx, "key "+o.Key, one) {
			s.hits.count(&s.hits.omitted)

			continue
		}
		out = append(out, o)
	}

	return out, err
}

func (s *slow) Folders(ctx context.Context, prefix string) ([]string, error) {
	if before, _ := s.turn(ctx, "folders "+prefix); before != nil {
		return nil, before
	}

	return s.Memory.Folders(ctx, prefix)
}

func (s *slow) Copy(ctx context.Context, from, to string) error {
	before, after := s.turn(ctx, "copy "+from)
	if before != nil {
		return before
	}

	return errors.Join(s.Memory.Copy(ctx, from, to), after)
}

func (s *slow) Delete(ctx context.Context, key string) error {
	before, after := s.turn(ctx, "delete "+key)
	if before != nil {
		return before
	}
	if strings.HasPrefix(key, s.guarded) && !strings.Contains(key, "-checkpoint-") {
		s.t.Errorf("seed %d: %s is deleted, want it kept at all times", s.seed, key)
	}

	return errors.Join(s.Memory.Delete(ctx, key), after)
}
