// Package aliases gives names that stay to the policies of the systems that lines accept: LINE/AGENT is the policy of
// an agent, counted from 0. Policy servers take them as names of models.
package aliases

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/collabui/collabui/internal/policy/serving"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/lines"
)

// Set is the aliases of some lines. It is safe for concurrent use. A nil set has none.
type Set struct {
	mu       sync.Mutex
	policies map[string]string // digests, by alias
	lines    []string
}

// New returns the aliases of lines. There are none until Run has found what the lines accept.
func New(names []string) *Set { return &Set{policies: map[string]string{}, lines: names} }

// every is how often a server looks what a line accepts.
const every = 2 * time.Second

// Run keeps the aliases on the systems that the lines accept, until ctx ends. It switches all aliases of a line at
// once, when all policies are loaded; until then they name those of the system before. log gets a line per switch, and
// per error.
func (s *Set) Run(
	ctx context.Context, b store.Bucket, load func(ctx context.Context, policy string) error,
	log func(format string, args ...any),
) {
	if s == nil {
		return
	}
	var all sync.WaitGroup
	for _, name := range s.lines {
		take := func(ctx context.Context, e lines.Entry) error {
			for _, digest := range e.System.Digests() {
				if err := load(ctx, digest); err != nil {
					return fmt.Errorf("load policy %s: %w", digest, err)
				}
			}
			s.name(name, e.System.Digests())

			return nil
		}
		told := func(e lines.Entry, err error) {
			if err != nil {
				log("line %s cannot be followed yet: %v", name, err)
			} else {
				log("models %s/AGENT are those of %s from now on", name, e.System)
			}
		}
		all.Go(func() { lines.Line(name).Follow(ctx, b, lines.System{}, every, take, told) })
	}
	all.Wait()
}

// name makes aliases of a line's policies.
func (s *Set) name(line string, digests []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.policies, func(alias, _ string) bool { return lineOf(alias) == line })
	for agent, digest := range digests {
		s.policies[fmt.Sprintf("%s/%d", line, agent)] = digest
	}
}

// Policy returns the policy that a model's name stands for: an alias's own, and otherwise the name itself. It is a
// refusal if a line that is followed has no such agent, or no system that is loaded.
func (s *Set) Policy(model string) (string, error) {
	if s == nil || !slices.Contains(s.lines, lineOf(model)) {
		return model, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	digest, ok := s.policies[model]
	if ok {
		return digest, nil
	}
	if _, ok := s.policies[lineOf(model)+"/0"]; ok {
		return "", serving.Refuse(http.StatusNotFound, "model %q: line %s has no such agent", model, lineOf(model))
	}

	return "", serving.Later("line %s accepts no system yet, or its policies are not loaded yet", lineOf(model))
}

// Names returns all aliases, sorted.
func (s *Set) Names() []string {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()

	return slices.Sorted(maps.Keys(s.policies))
}

// lineOf returns the line of an alias.
func lineOf(alias string) string {
	line, _, _ := strings.Cut(alias, "/")

	return line
}
