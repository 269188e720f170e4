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

// limits are the times and counts of a pool. Tests reduce them.
type limits struct {
	call        time.Duration // the time of one call to a companion; setting up a task takes long
	poll        time.Duration // the time between looks at a slot that is being mended
	backoff     time.Duration // the wait before the second consecutive restart of a slot; it doubles up to maxBackoff
	maxBackoff  time.Duration
	restarts    int           // consecutive restarts without a successful probe before a slot is quarantined
	quarantine  time.Duration // the time before a quarantined slot or template is tried again
	patience    time.Duration // how long a companion may report that it is busy
	hang        time.Duration // the time after which a call is considered hung
	recycle     int           // episodes after which an emulator is restarted
	maxMemory   float64       // the memory in MB above which an emulator is restarted
	templateMax int           // failed setups, on as many slots if there are as many, that quarantine a template
	voidRow     int           // consecutive losses of the accessibility tree before a restart
}

var usualLimits = limits{
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
	unseen      state = "unseen"      // not inspected yet
	free        state = "free"        // probed, and ready for a lease
	leased      state = "leased"      // an episode runs on it
	mending     state = "mending"     // being inspected, waited for or restarted
	quarantined state = "quarantined" // restarts did not help; tried again later
)

// slot is one emulator with its companion.
type slot struct {
	url       string // the address of its sessions
	base      string // the base of its HTTP addresses
	state     state
	episodes  int    // episodes since the last restart
	lostTrees int    // accessibility trees lost in a row
	restarts  int    // consecutive restarts without a successful probe
	why       string // why the slot is out of service
	refused   error  // why this process does not connect to it
}

// pool leases healthy emulators. It waits while the companion of a slot is busy. It restarts a slot that hangs, breaks
// or grows, with back-off, and quarantines a slot that restarts do not repair. Several workers may share emulators: a
// companion grants one lease at a time, and the pool waits for slots that other workers have leased.
type pool struct {
	limits limits
	width  int // the largest number of concurrent leases: all slots but the spare ones
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	once   sync.Once

	mu      sync.Mutex
	changed chan struct{} // closed and replaced when a slot becomes free
	slots   []*slot
	figures Figures
	blamed  map[string]map[string]int // consecutive failed setups, by template and slot
	barred  map[string]time.Time      // the ends of quarantines, by template
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

// start begins to inspect all slots. It is called when the first episode wants a slot, because a worker that only plans
// must leave the emulators alone. It may be repeated.
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
			return nil, fault.New(fault.Transient, "no emulator is free: %s: %w", p.snapshot(), context.Cause(ctx))
		case <-p.ctx.Done():
			return nil, fault.New(fault.Fatal, "the pool is closed")
		}
	}
}

// refuse records that this process does not connect to a slot.
func (p *pool) refuse(s *slot, why error) {
	p.mu.Lock()
	defer p.mu.Unlock()

	if s.refused == nil {
		close(p.changed)
		p.changed = make(chan struct{})
	}
	s.refused = fault.New(fault.Invalid, "servers: %s: %w", s.url, why)
}

// allRefused returns a fault of kind Invalid if this process connects to none of the slots, and nil otherwise.
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

// lease leases the free slot with the fewest episodes. Without a free slot, it returns a channel that is closed when
// one may have become free. began is the start of the wait.
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

// give takes a slot back. err is the error that voided its episode, or nil if the episode ended.
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
	if code == openenv.CodeCapacity { // another worker was faster
		return restart{}
	}

	s.episodes++
	if err == nil {
		s.lostTrees = 0
		if s.episodes >= p.limits.recycle {
			r = restart{why: "age", recycle: true}
		}

		return r
	}

	switch code {
	case openenv.CodeA11y:
		if s.lostTrees++; s.lostTrees >= p.limits.voidRow {
			r.why = "the accessibility tree was lost twice in a row"
		}
	case openenv.CodeADB, openenv.CodeDirty:
		r.why = err.Error()
	case "":
		code = codeSilent
	}
	p.figures.Voids[code]++

	return r
}
