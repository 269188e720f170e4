package androidworld

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/collabui/collabui/envadapters/openenv"
	"github.com/collabui/collabui/fault"
)

// policy holds the pool's times and counts; tests make them short.
type policy struct {
	call        time.Duration // one call to a companion; setting up a task takes long
	poll        time.Duration // between looks at a slot that is being mended
	backoff     time.Duration // before the second restart of a slot in a row; doubles up to maxBackoff
	maxBackoff  time.Duration
	restarts    int           // in a row without a probe that succeeds, before a slot is quarantined
	quarantine  time.Duration // of a slot or a template, before it is tried again
	patience    time.Duration // with a companion that says busy, whatever it does
	hang        time.Duration // a call that runs for longer is not busy, but hangs
	recycle     int           // episodes before an emulator is restarted
	maxMemory   float64       // of an emulator in MB, before it is restarted
	templateMax int           // times that a template cannot be set up, on as many slots where there are as many, before it is quarantined
	voidRow     int           // losses of the accessibility tree in a row, before a restart
}

var usual = policy{call: 2 * time.Minute, poll: 2 * time.Second, backoff: 10 * time.Second, maxBackoff: 5 * time.Minute, restarts: 4, quarantine: 30 * time.Minute, patience: 30 * time.Minute, hang: 150 * time.Second, recycle: 100,
	maxMemory: 12000, templateMax: 3, voidRow: 2}

// state of a slot.
type state string

const (
	free        state = "free"        // probed and ready for a lease
	leased      state = "leased"      // an episode is under way
	mending     state = "mending"     // looked at, waited for or restarted
	quarantined state = "quarantined" // restarts did not help; tried again later
)

// unseen says of a slot that it was not looked at yet.
const unseen = "not looked at yet"

// slot is one emulator behind its companion.
type slot struct {
	url      string // of its WebSocket
	base     string // of its HTTP
	state    state
	episodes int // since the last restart
	lost     int // accessibility trees in a row
	restarts int // in a row, without a probe that succeeds
	why      string
}

// Figures of a pool: counts since it was opened, and states now.
type Figures struct {
	Free        int            `json:"free"`
	Leased      int            `json:"leased"`
	Mending     int            `json:"mending"`
	Quarantined int            `json:"quarantined"`
	Leases      int            `json:"leases"`
	Voids       map[string]int `json:"voids"` // by code; what never answered counts as SILENT
	Restarts    int            `json:"restarts"`
	Recycled    int            `json:"recycled"`          // restarts for age or memory
	Templates   []string       `json:"templates"`         // in quarantine
	WaitS       float64        `json:"wait_s"`            // that Open waited for a free slot, in all
	MendS       float64        `json:"mend_s"`            // that slots were out of service, in all
	Why         []string       `json:"why,omitempty"`     // of slots out of service
	Version     string         `json:"version,omitempty"` // of the companions
}

// pool hands out emulators that were found sound. Busy is not dead: a slot whose companion is at work is waited for; one that hangs, breaks or grows is restarted, with
// back-off; one that no restart mends is left alone for a while. Several workers may share emulators: a companion gives one lease at a time, and a slot that another worker
// has leased is waited for.
type pool struct {
	p      policy
	width  int // leases at once: slots without the spare ones
	client *http.Client
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	once   sync.Once

	mu      sync.Mutex
	changed chan struct{} // closed and made anew when a slot becomes free
	slots   []*slot
	figures Figures
	blamed  map[string]map[string]int // template → slot → times that it could not be set up there, in a row
	barred  map[string]time.Time      // template → end of its quarantine
}

func newPool(servers []string, spare int, p policy) (*pool, error) {
	if spare < 0 || spare >= len(servers) {
		return nil, fault.New(fault.Invalid, "androidworld: spare: expected fewer than the %d servers, not %d", len(servers), spare)
	}
	ctx, cancel := context.WithCancel(context.Background())
	out := &pool{p: p, width: len(servers) - spare, client: &http.Client{}, ctx: ctx, cancel: cancel, changed: make(chan struct{}), blamed: map[string]map[string]int{}, barred: map[string]time.Time{}}
	out.figures.Voids = map[string]int{}
	for i, a := range servers {
		u, err := url.Parse(a)
		if err != nil || u.Scheme != "ws" && u.Scheme != "wss" || u.Host == "" {
			cancel()
			return nil, fault.New(fault.Invalid, "androidworld: servers: expected ws://host:port/ws, not %q", a)
		}
		if slices.Contains(servers[:i], a) {
			cancel()
			return nil, fault.New(fault.Invalid, "androidworld: servers: %s stands twice; one companion is one emulator", a)
		}
		out.slots = append(out.slots, &slot{url: a, base: strings.Replace(u.Scheme, "ws", "http", 1) + "://" + u.Host, state: mending, why: unseen})
	}
	return out, nil
}

// start looks at all slots, once. It is not done before somebody wants to play: a worker that only plans must leave the emulators alone.
func (p *pool) start() {
	p.once.Do(func() {
		for _, s := range p.slots {
			p.mend(s, "")
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
		p.mu.Lock()
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
		if best != nil && busy < p.width {
			best.state = leased
			p.figures.Leases++
			p.figures.WaitS += time.Since(began).Seconds()
			p.mu.Unlock()
			return best, nil
		}
		wait := p.changed
		p.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, fault.New(fault.Transient, "no emulator is free: %s: %w", p.say(), context.Cause(ctx))
		case <-p.ctx.Done():
			return nil, fault.New(fault.Fatal, "the pool is closed")
		}
	}
}

// give takes a slot back. err is what voided its episode, nil for one that ended.
func (p *pool) give(s *slot, err error) {
	p.mu.Lock()
	restart := ""
	if openenv.CodeOf(err) != openenv.CodeCapacity {
		s.episodes++
	}
	switch code := openenv.CodeOf(err); {
	case err == nil:
		s.lost = 0
		if s.episodes >= p.p.recycle {
			restart = "age"
		}
	case code == openenv.CodeA11y:
		p.figures.Voids[code]++
		if s.lost++; s.lost >= p.p.voidRow {
			restart = "the accessibility tree was lost twice in a row"
		}
	case code == openenv.CodeCapacity: // another worker was faster
	case code == openenv.CodeADB, code == openenv.CodeDirty:
		p.figures.Voids[code]++
		restart = err.Error()
	case code != "":
		p.figures.Voids[code]++
	default:
		p.figures.Voids["SILENT"]++
	}
	s.state = mending
	p.mu.Unlock()
	p.mend(s, restart)
}

// blame counts a template that could not be set up; on several slots it is the template's fault, and it is barred for a while.
func (p *pool) blame(template string, s *slot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.blamed[template] == nil {
		p.blamed[template] = map[string]int{}
	}
	p.blamed[template][s.url]++
	times := 0
	for _, n := range p.blamed[template] {
		times += n
	}
	if times >= p.p.templateMax && len(p.blamed[template]) >= min(p.p.templateMax, len(p.slots)) {
		p.barred[template] = time.Now().Add(p.p.quarantine)
		delete(p.blamed, template)
	}
}

// praise forgets what a template was blamed for: it could be set up.
func (p *pool) praise(template string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.blamed, template)
}

// bars tells whether a template is in quarantine.
func (p *pool) bars(template string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	until, ok := p.barred[template]
	if ok && time.Now().After(until) {
		delete(p.barred, template)
		return false
	}
	return ok
}

// now gives the figures.
func (p *pool) now() Figures {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := p.figures
	f.Voids = map[string]int{}
	for k, v := range p.figures.Voids {
		f.Voids[k] = v
	}
	for _, s := range p.slots {
		switch s.state {
		case free:
			f.Free++
		case leased:
			f.Leased++
		case mending:
			f.Mending++
		case quarantined:
			f.Quarantined++
		}
		if s.why != "" {
			f.Why = append(f.Why, s.url+": "+s.why)
		}
	}
	for t := range p.barred {
		f.Templates = append(f.Templates, t)
	}
	slices.Sort(f.Templates)
	return f
}

func (p *pool) say() string {
	f := p.now()
	s := fmt.Sprintf("%d free, %d leased, %d mending, %d in quarantine; %d leases, %d restarts (%d for age or memory)", f.Free, f.Leased, f.Mending, f.Quarantined, f.Leases, f.Restarts, f.Recycled)
	if len(f.Voids) > 0 {
		s += fmt.Sprintf(", void episodes %v", f.Voids)
	}
	if len(f.Templates) > 0 {
		s += ", templates in quarantine: " + strings.Join(f.Templates, " ")
	}
	if len(f.Why) > 0 {
		s += "; " + strings.Join(f.Why, "; ")
	}
	return s
}
