package activities

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/mixed"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/records/runs"
)

// inventory asks a suite what it offers, under the name that a specification gives it.
func inventory(ctx context.Context, name string, suite envadapters.Suite) (runs.Inventory, error) {
	i := runs.Inventory{Environment: name, Title: suite.Title(), Templates: map[string][]string{}}
	for _, split := range suite.Splits() {
		templates, err := suite.Templates(split)
		if err != nil {
			return i, err
		}
		for _, t := range templates {
			i.Templates[split] = append(i.Templates[split], t.Name)
		}
	}
	v, ok := suite.(envadapters.Versioned)
	if !ok {
		return i, nil
	}
	var err error
	i.Version, err = v.Version(ctx)

	return i, err
}

// within returns an inventory under the names that its tasks have in a mixed environment, if its own environment is a
// part of that.
func within(i runs.Inventory, o envadapters.Options) runs.Inventory {
	if _, ok := o.Parts[i.Environment]; !ok {
		return i
	}

	templates := map[string][]string{}
	for split, names := range i.Templates {
		for _, name := range names {
			templates[split] = append(templates[split], mixed.Name(i.Environment, name))
		}
	}
	i.Templates = templates

	return i
}

// Suites are the environments that are open in this process. They are shared by its activities and stay open until
// Close. An environment that answers slowly holds up nobody who wants another one.
type Suites struct {
	open func(envadapters.Options) (envadapters.Suite, error)

	mu       sync.Mutex
	opened   map[string]envadapters.Suite // by the digest of their options
	replaced []envadapters.Suite          // some may still be played
	turns    map[string]chan struct{}     // by the same digest; one holds an entry while somebody opens the suite
}

// NewSuites returns suites that open opens when they are first asked for.
func NewSuites(open func(envadapters.Options) (envadapters.Suite, error)) *Suites {
	return &Suites{open: open, opened: map[string]envadapters.Suite{}, turns: map[string]chan struct{}{}}
}

// get returns the suite with these options. If they name an inventory, it is opened again where it offered another one
// before; what still offers another one is a transient fault.
func (s *Suites) get(ctx context.Context, o envadapters.Options) (envadapters.Suite, error) {
	want := o.Inventory
	o.Inventory = ""
	suite, err := s.opens(ctx, o)
	if err != nil || want == "" {
		return suite, err
	}
	has, err := inventory(ctx, "", suite)
	if err != nil || has.Digest() == want {
		return suite, err
	}

	again, has, err := s.reopen(ctx, o, want)
	if err == nil && has.Digest() != want {
		err = fault.New(fault.Transient, "%s offers other tasks, or another version, than those that the run was "+
			"planned for: let it offer them again, or stop the run", suite.Title())
	}

	return again, err
}

// turn waits until nobody else opens the suite with these options, within the context.
func (s *Suites) turn(ctx context.Context, id string) (done func(), err error) {
	s.mu.Lock()
	t, ok := s.turns[id]
	if !ok {
		t = make(chan struct{}, 1)
		s.turns[id] = t
	}
	s.mu.Unlock()

	select {
	case t <- struct{}{}:
		return func() { <-t }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// known returns the suite that is open with these options; nil if none is.
func (s *Suites) known(id string) envadapters.Suite {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.opened[id]
}

// opens returns the suite with these options.
func (s *Suites) opens(ctx context.Context, o envadapters.Options) (envadapters.Suite, error) {
	id := runs.Digest(o)
	if suite := s.known(id); suite != nil {
		return suite, nil
	}
	done, err := s.turn(ctx, id)
	if err != nil {
		return nil, err
	}
	defer done()
	if suite := s.known(id); suite != nil { // whoever had the turn before opened it
		return suite, nil
	}

	suite, err := s.open(o)
	if err == nil {
		s.mu.Lock()
		s.opened[id] = suite
		s.mu.Unlock()
	}

	return suite, err
}

// reopen opens a suite again, unless somebody has by now opened one that offers what is wanted, and returns what it
// offers now. "" wants whatever is offered. Whoever plays in the one before goes on with that, unless both offer the
// same.
func (s *Suites) reopen(
	ctx context.Context, o envadapters.Options, want string,
) (envadapters.Suite, runs.Inventory, error) {
	id := runs.Digest(o)
	done, err := s.turn(ctx, id)
	if err != nil {
		return nil, runs.Inventory{}, err
	}
	defer done()
	before := s.known(id)
	if want != "" && before != nil {
		if has, err := inventory(ctx, "", before); err == nil && has.Digest() == want {
			return before, has, nil
		}
	}
	fresh, err := s.open(o)
	if err != nil {
		return nil, runs.Inventory{}, err
	}
	has, err := inventory(ctx, "", fresh)
	if err != nil {
		_ = fresh.Close()

		return nil, has, err
	}

	if before != nil {
		if old, err := inventory(ctx, "", before); err == nil && old.Digest() == has.Digest() {
			_ = fresh.Close()

			return before, has, nil
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opened[id] = fresh; before != nil {
		s.replaced = append(s.replaced, before)
	}

	return fresh, has, nil
}

// look returns what an environment offers now, whatever it offered before.
func (s *Suites) look(ctx context.Context, name string, o envadapters.Options) (runs.Inventory, error) {
	o.Inventory = ""
	_, has, err := s.reopen(ctx, o, "")
	has.Environment = name

	return has, err
}

// Close closes the suites that are open.
func (s *Suites) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()

	for _, suite := range s.opened {
		_ = suite.Close()
	}
	for _, suite := range s.replaced {
		_ = suite.Close()
	}
	clear(s.opened)
	s.replaced = nil
}

// Servers returns the states of the servers of all suites that are open. It waits for servers within the context.
func (s *Suites) Servers(ctx context.Context) (out []envadapters.Server) {
	s.mu.Lock()
	open := slices.Collect(maps.Values(s.opened))
	s.mu.Unlock()

	for _, suite := range open {
		if x, ok := suite.(envadapters.Served); ok {
			out = append(out, x.Servers(ctx)...)
		}
	}
	slices.SortFunc(out, func(a, b envadapters.Server) int { return cmp.Compare(a.Address, b.Address) })

	return slices.CompactFunc(out, func(a, b envadapters.Server) bool { return a.Address == b.Address })
}
