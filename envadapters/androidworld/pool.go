package androidworld

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/collabui/collabui/envadapters/openenv"
	"github.com/collabui/collabui/fault"
)

// limits are the pool's times and counts. Tests make them small.
type limits struct {
	call        time.Duration // The time of one call to a companion. Setting up a task takes long.
	poll        time.Duration // The time between looks at a slot that is being mended.
	backoff     time.Duration // The wait before the second restart of a slot in a row. It doubles up to maxBackoff.
	maxBackoff  time.Duration
	restarts    int           // The restarts in a row, without a successful probe, before a slot is quarantined.
	quarantine  time.Duration // The time before a quarantined slot or template is tried again.
	patience    time.Duration // How long a companion may say busy.
	hang        time.Duration // The time after which a call counts as hanging.
	recycle     int           // The episodes after which an emulator is restarted.
	maxMemory   float64       // The memory in MB above which an emulator is restarted.
	templateMax int           // The failed setups, on as many slots if there are as many, that quarantine a template.
	voidRow     int           // The losses of the accessibility tree in a row before a restart.
}

var usual = limits{
	call:        2 * time.Minute,
	poll:        2 * time.Second,
	backoff:     10 * time.Second,
	maxBackoff:  5 * time.Minute,
	restarts:    4,
	quarantine:  30 * time.Minute,
	patience:    30 * time.Minute,
	hang:        150 * time.Second,
	recycle:     100,
	maxMemory:   12000,
	templateMax: 3,
	voidRow:     2,
}

// state is the state of a slot.
type state string

const (
	unseen      state = "unseen"      // It was not inspected yet.
	free        state = "free"        // It was probed and is ready for a lease.
	leased      state = "leased"      // An episode runs on it.
	mending     state = "mending"     // It is being inspected, waited for or restarted.
	quarantined state = "quarantined" // Restarts did not help. It is tried again later.
)

// slot is one emulator with its companion.
type slot struct {
	url      string // The address of its sessions.
	base     string // The base of its HTTP addresses.
	state    state
	episodes int    // The episodes since the last restart.
	lost     int    // The accessibility trees lost in a row.
	restarts int    // The restarts in a row without a successful probe.
	why      string // Why the slot is out of service.
	refused  error  // Why this process does not connect to it.
}

// pool hands out healthy emulators. It waits for a slot whose companion is at work. A slot that hangs, breaks or grows
// is restarted, with back-off; one that no restart repairs is left alone for a while. Several workers may share
// emulators: a companion grants one lease at a time, and the pool waits for a slot that another worker has leased.
type pool struct {
	limits limits
	width  int // The most leases at the same time: the slots without the spare ones.
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	once   sync.Once

	mu      sync.Mutex
	changed chan struct{} // It is closed and replaced when a slot becomes free.
	slots   []*slot
	figures Figures
	blamed  map[string]map[string]int // The failed setups in a row, by template and slot.
	barred  map[string]time.Time      // The ends of quarantines, by template.
}

func newPool(servers []string, spare int, l limits) (*pool, error) {
	if spare < 0 || spare >= len(servers) {
		return nil, fault.New(fault.Invalid, "androidworld: spare: expected fewer than the %d servers, not %d",
			len(servers), spare)
	}

	var slots []*slot
	for i, a := range servers {
		address, err := openenv.ParseAddress(a)
		if err != nil {
			return nil, fault.New(fault.Invalid, "androidworld: servers: %w", err)
		}
		if slices.Contains(servers[:i], a) {
			return nil, fault.New(fault.Invalid, "androidworld: servers: %s is listed twice; "+
				"one companion is one emulator", a)
		}

		base := strings.Replace(address.Scheme, "ws", "http", 1) + "://" + address.Host
		slots = append(slots, &slot{url: a, base: base, state: unseen, why: "not looked at yet"})
	}

	ctx, cancel := context.WithCancel(context.Background())

	return &pool{
		limits:  l,
		width:   len(servers) - spare,
		ctx:     ctx,
		cancel:  cancel,
		changed: make(chan struct{}),
		slots:   slots,
		figures: Figures{Voids: map[openenv.Code]int{}},
		blamed:  map[string]map[string]int{},
		barred:  map[string]time.Time{},
	}, nil
}

// start begins to look at all slots. It waits until something wants to play: a worker that only plans must leave the
// emulators alone. It may be repeated.
func (p *pool) start() {
	p.once.Do(func() {
		for _, s := range p.slots {
			p.mend(s, restart{})
		}
	})
}

func (p *pool) close() {
	p.cancel()
	p.wg.Wait()
}

// take waits for a sound slot and leases it.
func (p *pool) take(ctx context.Context) (*slot, error) {
	p.start()

	began := time.Now()
	for {
		s, wait := p.lease(began)
		if s != nil {
			return s, nil
		}
		if err := p.allRefused(); err != nil {
			return nil, err
		}

		select {
		case <-wait:
		case <-ctx.Done():
			return nil, fault.New(fault.Transient, "no emulator is free: %s: %w", p.now(), context.Cause(ctx))
		case <-p.ctx.Done():
			return nil, fault.New(fault.Fatal, "the pool is closed")
		}
	}
}

// refuse notes that this process does not connect to a slot.
func (p *pool) refuse(s *slot, why error) {
	p.mu.Lock()
	defer p.mu.Unlock()

	if s.refused == nil {
		close(p.changed)
		p.changed = make(chan struct{})
	}
	s.refused = fault.New(fault.Invalid, "servers: %s: %w", s.url, why)
}

// allRefused returns an invalid fault if this process connects to none of the slots.
func (p *pool) allRefused() error {
	p.mu.Lock()
	defer p.mu.Unlock()

	var all []error
	for _, s := range p.slots {
		if s.refused == nil {
			return nil
		}
		all = append(all, s.refused)
	}

	return errors.Join(all...)
}

// lease leases the free slot with the fewest episodes. If there is none, it returns a channel that is closed when that
// may have changed. began is when the wait began.
func (p *pool) lease(began time.Time) (*slot, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()

	busy := 0
	var best *slot
	for _, s := range p.slots {
		if s.state == leased {
			busy++
		}
		if s.state == free && (best == nil || s.episodes < best.episodes) {
			best = s
		}
	}
	if best == nil || busy >= p.width {
		return nil, p.changed
	}

	best.state = leased
	p.figures.Leases++
	p.figures.WaitS += time.Since(began).Seconds()

	return best, nil
}

// give takes a slot back. err is what voided its episode, nil for an episode that ended.
func (p *pool) give(s *slot, err error) {
	p.mu.Lock()
	r := p.judge(s, err)
	s.state = mending
	p.mu.Unlock()

	p.mend(s, r)
}

// judge counts the end of a lease and decides whether the slot must be restarted. Callers hold mu.
func (p *pool) judge(s *slot, err error) (r restart) {
	code := openenv.CodeOf(err)
	if code == openenv.CodeCapacity { // Another worker was faster.
		return restart{}
	}

	s.episodes++
	if err == nil {
		s.lost = 0
		if s.episodes >= p.limits.recycle {
			r = restart{why: "age", recycle: true}
		}

		return r
	}

	switch code {
	case openenv.CodeA11y:
		if s.lost++; s.lost >= p.limits.voidRow {
			r.why = "the accessibility tree was lost twice in a row"
		}
	case openenv.CodeADB, openenv.CodeDirty:
		r.why = err.Error()
	case "":
		code = silent
	}
	p.figures.Voids[code]++

	return r
}
