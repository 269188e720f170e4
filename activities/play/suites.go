package play

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/records/runs"
)

// Suites are the environments that are open in this process. They are shared by its activities and stay open until
// Close. A suite that opens slowly delays no caller that wants another one.
type Suites struct {
	open func(envadapters.Options) (envadapters.Suite, error)

	mu       sync.Mutex
	opened   map[string]envadapters.Suite // by the digest of their options
	replaced []envadapters.Suite          // some may still be played
	turns    map[string]chan struct{}     // by the same digest; a full one means that the suite is being opened
}

// NewSuites returns suites, which open opens when they are used for the first time.
func NewSuites(open func(envadapters.Options) (envadapters.Suite, error)) *Suites {
	return &Suites{open: open, opened: map[string]envadapters.Suite{}, turns: map[string]chan struct{}{}}
}

// Get returns the suite with these options. If they name an inventory, a suite that offered another one before is
// opened again. It is a transient fault if the suite still offers another one.
func (s *Suites) Get(ctx context.Context, options envadapters.Options) (envadapters.Suite, error) {
	want := options.Inventory
	options.Inventory = ""
	suite, err := s.find(ctx, options)
	if err != nil || want == "" {
		return suite, err
	}
	offered, err := InventoryOf(ctx, "", suite)
	if err != nil || offered.Digest() == want {
		return suite, err
	}

	again, offered, err := s.reopen(ctx, options, want)
	if err == nil && offered.Digest() != want {
		err = fault.New(fault.Transient, "%s offers other tasks, or another version, than those that the run was "+
			"planned for: let it offer them again, or stop the run", suite.Title())
	}

	return again, err
}

// takeTurn waits, within the context, until no other caller opens the suite with these options.
func (s *Suites) takeTurn(ctx context.Context, id string) (done func(), err error) {
	s.mu.Lock()
	turn, ok := s.turns[id]
	if !ok {
		turn = make(chan struct{}, 1)
		s.turns[id] = turn
	}
	s.mu.Unlock()

	select {
	case turn <- struct{}{}:
		return func() { <-turn }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// ifOpen returns the suite that is open with these options, or nil.
func (s *Suites) ifOpen(id string) envadapters.Suite {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.opened[id]
}

// find returns the suite with these options, and opens it at first.
func (s *Suites) find(ctx context.Context, options envadapters.Options) (envadapters.Suite, error) {
	id := runs.Digest(options)
	if suite := s.ifOpen(id); suite != nil {
		return suite, nil
	}
	done, err := s.takeTurn(ctx, id)
	if err != nil {
		return nil, err
	}
	defer done()
	if suite := s.ifOpen(id); suite != nil { // the caller that had the turn before opened it
		return suite, nil
	}

	suite, err := s.open(options)
	if err == nil {
		s.mu.Lock()
		s.opened[id] = suite
		s.mu.Unlock()
	}

	return suite, err
}

// reopen opens a suite again and returns what it offers now. It returns the present suite if that offers what is wanted
// by now, or the same as the new one. If want is empty, anything is wanted. Episodes that play in the present suite
// continue there.
func (s *Suites) reopen(
	ctx context.Context, options envadapters.Options, want string,
) (envadapters.Suite, runs.Inventory, error) {
	id := runs.Digest(options)
	done, err := s.takeTurn(ctx, id)
	if err != nil {
		return nil, runs.Inventory{}, err
	}
	defer done()
	present := s.ifOpen(id)
	if want != "" && present != nil {
		offered, err := InventoryOf(ctx, "", present)
		if err == nil && offered.Digest() == want {
			return present, offered, nil
		}
	}
	fresh, err := s.open(options)
	if err != nil {
		return nil, runs.Inventory{}, err
	}
	offered, err := InventoryOf(ctx, "", fresh)
	if err != nil {
		_ = fresh.Close()

		return nil, offered, err
	}

	if present != nil {
		before, err := InventoryOf(ctx, "", present)
		if err == nil && before.Digest() == offered.Digest() {
			_ = fresh.Close()

			return present, offered, nil
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened[id] = fresh
	if present != nil {
		s.replaced = append(s.replaced, present)
	}

	return fresh, offered, nil
}

// Look opens an environment again, and returns what it offers now.
func (s *Suites) Look(ctx context.Context, name string, options envadapters.Options) (runs.Inventory, error) {
	options.Inventory = ""
	_, offered, err := s.reopen(ctx, options, "")
	offered.Environment = name

	return offered, err
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
		if served, ok := suite.(envadapters.Served); ok {
			out = append(out, served.Servers(ctx)...)
		}
	}
	slices.SortFunc(out, func(a, b envadapters.Server) int { return cmp.Compare(a.Address, b.Address) })

	return slices.CompactFunc(out, func(a, b envadapters.Server) bool { return a.Address == b.Address })
}
