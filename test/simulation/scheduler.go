// Package simulation plays whole runs in one process, on a clock that only waiting moves, and lets one scheduler decide
// what happens next: which of the waiting requests continues, and which fault strikes it. The workflows, the activities
// and the S3 client are the real ones. Equal seeds give equal traces, byte for byte. Only tests import it.
package simulation

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"

	"github.com/collabui/collabui/domain"
)

// scheduler decides which point continues.
type scheduler struct {
	seed  uint64
	order *rand.Rand
	end   chan struct{}

	mu      sync.Mutex
	waiting []*point
	arrived chan struct{}
	points  int
	faults  []Fault                // faults that have not struck yet
	away    int                    // remaining requests to S3 that find no connection
	full    int                    // remaining writes to S3 that find no space
	struck  map[FaultKind]int      // by kind
	effects map[string]int         // effects of faults and actors, in words
	restart func()                 // loses Temporal's data
	happen  func(k FaultKind) bool // lets an event take place, unless it is impossible now

	trace   *strings.Builder // nil if no trace is kept
	failing []string         // lines of activities that failed since the last line of the trace
	began   time.Time
}

// point is where an activity or an actor waits for the scheduler.
type point struct {
	name string
	all  []FaultKind // faults that can strike every point of its execution
	can  []FaultKind // further faults that can strike it
	goOn chan FaultKind
}

func (p *point) strikes(kind FaultKind) bool {
	return slices.Contains(p.can, kind) || slices.Contains(p.all, kind)
}

func newScheduler(seed uint64, faults []Fault, keep bool) *scheduler {
	s := &scheduler{
		seed: seed, order: rand.New(rand.NewPCG(seed, 2)), faults: slices.Clone(faults),
		struck: map[FaultKind]int{}, effects: map[string]int{},
		end: make(chan struct{}), arrived: make(chan struct{}, 1), began: time.Now(),
	}
	if keep {
		s.trace = &strings.Builder{}
	}

	return s
}

// effect records an effect of a fault or an actor.
func (s *scheduler) effect(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.effects[what]++
}

// execution is one try of an activity, or of an actor.
type execution struct {
	name   string
	actor  bool
	varies bool          // its worker makes other answers and policies than the others
	giveUp chan struct{} // closed when Temporal no longer waits for it
	once   sync.Once
	cancel context.CancelCauseFunc

	mu    sync.Mutex
	dead  bool  // its worker died, so it has no further effect
	lost  error // the error that Temporal records when it gives up the activity
	until int   // points after which it is cancelled; 0 means never

	frozen time.Time // time until which its process is stopped
}

// errDead ends an activity whose worker is dead, and errSilent one from which Temporal hears nothing.
var (
	errDead   = errors.New("simulation: the worker is dead")
	errSilent = temporal.NewTimeoutError(enums.TIMEOUT_TYPE_HEARTBEAT, nil)
)

// abandon makes Temporal give up the activity; if die is true, its worker is dead, too.
func (e *execution) abandon(die bool) {
	e.mu.Lock()
	e.dead = e.dead || die
	e.mu.Unlock()
	if die {
		e.cancel(errDead)
	}
	e.once.Do(func() { close(e.giveUp) })
}

// silence makes Temporal give up the activity by a timeout. It is cancelled after some more points.
func (e *execution) silence(points int) {
	e.mu.Lock()
	e.lost = errSilent
	e.until = points
	e.mu.Unlock()
	e.abandon(false)
}

// passes counts a point of a silent activity, which is cancelled at the last one.
func (e *execution) passes() {
	e.mu.Lock()
	over := e.until == 1
	e.until = max(0, e.until-1)
	e.mu.Unlock()
	if over {
		e.cancel(context.Canceled)
	}
}

// freeze stops all requests of an actor's process.
func (e *execution) freeze(duration time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.frozen = time.Now().Add(duration)
}

// thaw waits until the process is not frozen any more, and reports whether it was.
func (e *execution) thaw() bool {
	e.mu.Lock()
	left := time.Until(e.frozen)
	e.mu.Unlock()
	time.Sleep(left)

	return left > 0
}

// failed returns the error of an activity that Temporal gave up.
func (e *execution) failed() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.lost != nil {
		return e.lost
	}

	return errGivenUp
}

func (e *execution) isDead() bool {
	e.mu.Lock()
	defer e.mu.Unlock()

	return e.dead
}

type executionKey struct{}

func executionOf(ctx context.Context) *execution {
	e, _ := ctx.Value(executionKey{}).(*execution)

	return e
}

// randomName matches names that actors draw at random.
var randomName = regexp.MustCompile(`[A-Z2-7]{26}`)

// silentFor is the largest number of points that a silent activity passes before it is cancelled.
const silentFor = 40

// frozenFor is how long a frozen actor is stopped: longer than the grace period.
const frozenFor = grace + 2*time.Hour

// at waits until the scheduler lets the point continue. It returns the fault that strikes the point, which the caller
// carries out; faults of the execution itself are carried out here. The caller must call after once the request has
// taken effect. Requests that belong to neither an activity nor an actor continue immediately.
func (s *scheduler) at(ctx context.Context, name string, can ...FaultKind) (kind FaultKind, after func(), err error) {
	e := executionOf(ctx)
	if e == nil {
		return none, func() {}, nil
	}
	if e.isDead() {
		return none, nil, errDead
	}
	e.passes()
	p := &point{name: e.name + " " + name, all: everywhere, can: can, goOn: make(chan FaultKind, 1)}
	hurry := ctx.Done()
	if e.actor {
		p.all = everyActor
		p.name = randomName.ReplaceAllString(p.name, "random")
		if e.thaw() {
			hurry = nil // requests that waited in a frozen process fail one by one
		}
	}
	s.add(p)
	select {
	case kind = <-p.goOn:
		if e.isDead() { // it died while it waited, as at an event
			return none, nil, errDead
		}
	case <-hurry:
		s.remove(p)

		return none, nil, context.Cause(ctx)
	}

	after = func() {}
	switch kind {
	case Kill:
		e.abandon(true)

		return none, nil, errDead
	case KillAfter:
		return none, func() { e.abandon(true) }, nil
	case Late:
		e.abandon(false)
	case Silent:
		e.silence(1 + int(domain.Seed(0, p.name)%silentFor))
	case Restart:
		s.restart()
	case Slow, Jump:
		time.Sleep(map[FaultKind]time.Duration{Slow: 10 * time.Second, Jump: 20 * time.Minute}[kind])
		if e.isDead() { // it died meanwhile
			return none, nil, errDead
		}
	case Freeze:
		e.freeze(frozenFor)
		e.thaw()
		s.add(&point{name: p.name, goOn: p.goOn})
		<-p.goOn
	default:
		return kind, after, nil
	}

	return none, after, nil
}

func (s *scheduler) add(p *point) {
	s.mu.Lock()
	s.waiting = append(s.waiting, p)
	s.mu.Unlock()
	select {
	case s.arrived <- struct{}{}:
	default:
	}
}

func (s *scheduler) remove(p *point) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = slices.DeleteFunc(s.waiting, func(x *point) bool { return x == p })
}

// run lets one point continue after the other, each when everything else waits, until stop.
func (s *scheduler) run() {
	for {
		synctest.Wait()
		if s.next() {
			continue
		}
		select {
		case <-s.arrived:
		case <-s.end:
			return
		}
	}
}

func (s *scheduler) stop() { close(s.end) }

// next lets a point continue, or an event take place, and reports whether a point waited.
func (s *scheduler) next() bool {
	s.mu.Lock()
	waits := len(s.waiting) > 0
	s.mu.Unlock()
	if !waits {
		return false
	}
	if s.takesPlace() {
		return true
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	// The points arrived in any order.
	slices.SortFunc(s.waiting, func(a, b *point) int { return strings.Compare(a.name, b.name) })
	i := s.order.IntN(len(s.waiting))
	p := s.waiting[i]
	s.waiting = slices.Delete(s.waiting, i, i+1)
	s.points++
	kind := s.due(p)
	switch {
	case kind == S3Away:
		s.away = awayFor
	case kind == S3Full:
		s.full = fullFor
	case kind == none && s.full > 0 && strings.Contains(p.name, " "+http.MethodPut+" "):
		s.full--
		kind = S3Full
	case kind == none && s.away > 0 && slices.Contains(p.can, S3Away):
		s.away--
		kind = S3Down
	}
	if s.trace != nil {
		s.note("%d %v %s %s", s.points, time.Since(s.began), p.name, kind)
	}
	p.goOn <- kind

	return true
}

// takesPlace lets an event take place that is due and possible, and reports whether there was one.
func (s *scheduler) takesPlace() bool {
	for i, fault := range s.faults {
		if fault.At > s.points+1 {
			break
		}
		if !isEvent(fault.Kind) || !s.happen(fault.Kind) {
			continue
		}
		s.mu.Lock()
		s.faults = slices.Delete(s.faults, i, i+1)
		s.struck[fault.Kind]++
		s.note("%d %v event %s", s.points+1, time.Since(s.began), fault.Kind)
		s.mu.Unlock()

		return true
	}

	return false
}

// due returns the fault that strikes a point.
func (s *scheduler) due(p *point) FaultKind {
	for i, fault := range s.faults {
		if fault.At > s.points {
			break
		}
		if p.strikes(fault.Kind) {
			s.faults = slices.Delete(s.faults, i, i+1)
			s.struck[fault.Kind]++

			return fault.Kind
		}
	}

	return none
}

// note adds a line to the trace, after the lines of activities that failed at one moment. Which of these failed first
// is not determined, so their lines are sorted.
func (s *scheduler) note(format string, args ...any) {
	if s.trace == nil {
		return
	}
	for _, line := range slices.Sorted(slices.Values(s.failing)) {
		s.trace.WriteString(line)
	}
	s.failing = nil
	fmt.Fprintf(s.trace, format+"\n", args...)
}
