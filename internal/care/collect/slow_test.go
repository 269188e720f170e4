package collect_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"sync"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store"
)

// slow is a store in which every request takes a random time, so that concurrent users take turns at random. Some
// requests fail, before or after they have taken effect.
type slow struct {
	*store.Memory
	seed uint64

	mu    sync.Mutex
	asked map[string]int
	hits  *hits
}

// hits counts the failures that struck.
type hits struct {
	mu                         sync.Mutex
	before, after, kills, done int
}

var errNetwork = fault.New(fault.Transient, "the network is down")

// turn waits for a random time and returns the errors with which the request fails before or after its effect, if any.
func (s *slow) turn(ctx context.Context, key string) (before, after error) {
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

	return s.Memory.Get(ctx, key)
}

func (s *slow) List(ctx context.Context, prefix string) ([]store.Ref, error) {
	if before, _ := s.turn(ctx, "list "+prefix); before != nil {
		return nil, before
	}

	return s.Memory.List(ctx, prefix)
}

func (s *slow) Folders(ctx context.Context, prefix string) ([]string, error) {
	if before, _ := s.turn(ctx, "folders "+prefix); before != nil {
		return nil, before
	}

	return s.Memory.Folders(ctx, prefix)
}

func (s *slow) Ages(ctx context.Context, prefix string) ([]store.Aged, error) {
	if before, _ := s.turn(ctx, "ages "+prefix); before != nil {
		return nil, before
	}

	return s.Memory.Ages(ctx, prefix)
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

	return errors.Join(s.Memory.Delete(ctx, key), after)
}
