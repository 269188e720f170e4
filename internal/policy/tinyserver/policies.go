package tinyserver

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/collabui/collabui/internal/httpd"
	"github.com/collabui/collabui/internal/policy/tinylm"
	"github.com/collabui/collabui/internal/store"
)

// maxPolicies is the maximum number of policies in memory. The least recently used policies are dropped first.
const maxPolicies = 32

// entry is a policy that is loaded or being loaded.
type entry struct {
	once sync.Once
	pol  *tinylm.Policy // nil until it is loaded
	err  error
	used time.Time
}

// policy returns the policy of a name, which is its digest, and loads it from the store on first use. Concurrent
// callers wait for the same load.
func (s *Server) policy(ctx context.Context, name string) (*tinylm.Policy, error) {
	if !httpd.IsDigest(name) {
		return nil, httpd.Refuse(http.StatusNotFound,
			"there is no model %q: a model name is the 64 hex digits of a checkpoint's SHA-256", name)
	}

	s.mu.Lock()
	e, ok := s.policies[name]
	if !ok {
		e = &entry{}
		s.policies[name] = e
		s.evict(name)
	}
	e.used = time.Now()
	s.mu.Unlock()

	e.once.Do(func() { s.read(context.WithoutCancel(ctx), name, e) })
	if e.err != nil {
		s.mu.Lock()
		if s.policies[name] == e {
			delete(s.policies, name) // the next request loads it again
		}
		s.mu.Unlock()
	}

	return e.pol, e.err
}

// read reads a policy from the store into its entry.
func (s *Server) read(ctx context.Context, name string, e *entry) {
	raw, exists, err := store.MayBlob(ctx, s.bucket, name)
	if err == nil && !exists { // clients repeat the request
		err = httpd.Refuse(http.StatusNotFound, "the store has no policy %s", name)
	}
	var model *tinylm.Model
	if err == nil {
		model, err = tinylm.Decode(raw)
	}

	s.mu.Lock() // loaded reads entries while they are being loaded
	defer s.mu.Unlock()

	e.err = err
	if err == nil {
		e.pol = tinylm.NewPolicy(model)
	}
}

// evict drops the least recently used policies other than keep. Callers hold mu.
func (s *Server) evict(keep string) {
	for len(s.policies) > maxPolicies {
		oldest := ""
		for key, e := range s.policies {
			if key != keep && (oldest == "" || e.used.Before(s.policies[oldest].used)) {
				oldest = key
			}
		}
		delete(s.policies, oldest)
	}
}

// loadedDigests returns the digests of the policies in memory, sorted.
func (s *Server) loadedDigests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()

	var names []string
	for name, e := range s.policies {
		if e.pol != nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)

	return names
}

// drop removes a policy from memory and reports whether it was loaded.
func (s *Server) drop(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()

	_, ok := s.policies[name]
	delete(s.policies, name)

	return ok
}
