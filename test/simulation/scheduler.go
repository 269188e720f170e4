// Package simulation plays whole runs in one process, on a clock that only waiting moves, and lets one scheduler decide
// what happens next: which of the waiting requests goes on, and which fault strikes it. The workflows, the activities
// and the S3 client are the real ones. Equal seeds give equal traces, byte for byte. Only tests import it.
package simulation

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"
)

// Kind is a kind of fault. It strikes at a point: a request, a step of a trainer or an environment, or the end of an
// activity.
type Kind string

// The kinds of faults.
const (
	none Kind = ""

	// What can strike every point of an activity.
	Kill      Kind = "kill"       // the worker dies before the request
	KillAfter Kind = "kill after" // the worker dies when the request has taken effect
	Late      Kind = "late"       // Temporal gives the activity up, which runs on while another worker repeats it
	Slow      Kind = "slow"       // the request takes ten seconds
	Jump      Kind = "jump"       // the clock jumps 20 minutes ahead, as on a machine that slept
	Restart   Kind = "restart"    // Temporal's data are lost; the run is started again while the old activities run on

	// What can strike the begin of an activity that is not the control worker's.
	OtherVersion Kind = "other version" // a worker of another version takes it, which would do it in another way

	// What can strike the end of an activity.
	Unacknowledged Kind = "unacknowledged" // it ends, and Temporal does not hear of it

	// What can strike a request to S3.
	S3Down      Kind = "s3 down"      // no connection
	S3Error     Kind = "s3 500"       // internal error, without effect
	S3Busy      Kind = "s3 503"       // slow down
	S3Conflict  Kind = "s3 409"       // another write of the key is under way
	S3Proxy     Kind = "s3 404"       // a proxy answers instead of the server
	S3Lost      Kind = "s3 lost"      // the request takes effect, and the answer is lost
	S3Truncated Kind = "s3 truncated" // the body ends in the middle
	S3Stalled   Kind = "s3 stalled"   // the body stops in the middle, and the connection stays
	S3Away      Kind = "s3 away"      // no connection for the next requests: more than an activity tries
	S3Full      Kind = "s3 full"      // no space for what the next requests write
	S3Lies      Kind = "s3 lies"      // the server says that it wrote a blob, and did not
	S3Torn      Kind = "s3 torn"      // the server writes half of a blob, and fails

	// What can strike a request to Redis.
	RedisDown  Kind = "redis down"  // no connection
	RedisFlush Kind = "redis flush" // all its keys are lost

	// What can strike a call to a policy server.
	PolicyDown Kind = "policy down"
	PolicyBusy Kind = "policy 429"

	// What can strike a call to a chat endpoint.
	ModelDown  Kind = "model down"
	ModelBusy  Kind = "model 429"
	ModelHangs Kind = "model hangs" // for two minutes

	// What can strike a step of an environment.
	EnvironmentDies Kind = "environment dies"
	EnvironmentOdd  Kind = "environment odd" // its screens are not the same after a replay
)

// everywhere are the kinds that can strike every point.
var everywhere = []Kind{Kill, KillAfter, Late, Slow, Jump, Restart}

// Kinds are all kinds of faults.
var Kinds = slices.Concat(everywhere, []Kind{OtherVersion, Unacknowledged},
	s3Faults, s3BlobFaults, redisFaults, policyFaults, modelFaults, environmentFaults)

var (
	s3Faults = []Kind{
		S3Down, S3Error, S3Busy, S3Conflict, S3Proxy, S3Lost, S3Truncated, S3Stalled, S3Away, S3Full,
	}
	s3BlobFaults      = []Kind{S3Lies, S3Torn}
	redisFaults       = []Kind{RedisDown, RedisFlush}
	policyFaults      = []Kind{PolicyDown, PolicyBusy}
	modelFaults       = []Kind{ModelDown, ModelBusy, ModelHangs}
	environmentFaults = []Kind{EnvironmentDies, EnvironmentOdd}
)

// Fault strikes at the first point from At on that its kind can strike. Points are counted from 1.
type Fault struct {
	At   int
	Kind Kind
}

func (f Fault) String() string { return fmt.Sprintf("%d:%s", f.At, f.Kind) }

// awayFor is the number of requests to S3 that one fault of the kind S3Away strikes, and fullFor that of writes which
// one of the kind S3Full does.
const awayFor, fullFor = 400, 100

// Draw returns the faults of a seed: up to twenty among the first points.
func Draw(seed uint64, points int) []Fault {
	r := rand.New(rand.NewPCG(seed, 1))
	out := make([]Fault, 1+r.IntN(20))
	for i := range out {
		out[i] = Fault{At: 1 + r.IntN(points), Kind: Kinds[r.IntN(len(Kinds))]}
	}
	slices.SortStableFunc(out, func(a, b Fault) int { return a.At - b.At })

	return out
}

// scheduler decides which point goes on.
type scheduler struct {
	order *rand.Rand
	end   chan struct{}

	mu      sync.Mutex
	waiting []*point
	arrived chan struct{}
	points  int
	faults  []Fault          // those that have not struck
	away    int              // requests to S3 that find no connection
	full    int              // writes to S3 that find no space
	struck  map[Kind]int     // by kind
	restart func()           // loses Temporal's data
	trace   *strings.Builder // nil: it is not kept
	failing []string         // lines of activities that failed since the last line of the trace
	began   time.Time
}

// point is where an activity waits for the scheduler.
type point struct {
	name string
	can  []Kind
	goOn chan Kind
}

func newScheduler(seed uint64, faults []Fault, keep bool) *scheduler {
	s := &scheduler{
		order: rand.New(rand.NewPCG(seed, 2)), faults: slices.Clone(faults), struck: map[Kind]int{},
		end: make(chan struct{}), arrived: make(chan struct{}, 1), began: time.Now(),
	}
	if keep {
		s.trace = &strings.Builder{}
	}

	return s
}

// execution is one try of an activity.
type execution struct {
	name   string
	giveUp chan struct{} // closed when Temporal no longer waits for it
	once   sync.Once
	mu     sync.Mutex
	dead   bool // its worker died: it has no further effect
	cancel context.CancelCauseFunc
}

// errDead ends what an activity of a dead worker does.
var errDead = errors.New("simulation: the worker is dead")

// abandon makes Temporal give the activity up; if die is true, its worker is dead, too.
func (e *execution) abandon(die bool) {
	e.mu.Lock()
	e.dead = e.dead || die
	e.mu.Unlock()
	if die {
		e.cancel(errDead)
	}
	e.once.Do(func() { close(e.giveUp) })
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

// at waits until the scheduler lets the point go on. It returns the fault that strikes the point, which the caller
// carries out; faults of the activity itself are carried out here, and after is to be called when the request has taken
// effect. What no activity asks for goes on at once.
func (s *scheduler) at(ctx context.Context, name string, can ...Kind) (k Kind, after func(), err error) {
	e := executionOf(ctx)
	if e == nil {
		return none, func() {}, nil
	}
	if e.isDead() {
		return none, nil, errDead
	}
	p := &point{name: e.name + " " + name, can: slices.Concat(everywhere, can), goOn: make(chan Kind, 1)}
	s.add(p)
	select {
	case k = <-p.goOn:
	case <-ctx.Done():
		s.remove(p)

		return none, nil, context.Cause(ctx)
	}

	after = func() {}
	switch k {
	case Kill:
		e.abandon(true)

		return none, nil, errDead
	case KillAfter:
		return none, func() { e.abandon(true) }, nil
	case Late:
		e.abandon(false)
	case Restart:
		s.restart()
	case Slow:
		time.Sleep(10 * time.Second)
	case Jump:
		time.Sleep(20 * time.Minute)
	default:
		return k, after, nil
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

// run lets one point go on after the other, each when everything else waits, until stop.
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

// next lets a point go on and reports whether one waited.
func (s *scheduler) next() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) == 0 {
		return false
	}
	// They arrived in any order.
	slices.SortFunc(s.waiting, func(a, b *point) int { return strings.Compare(a.name, b.name) })
	i := s.order.IntN(len(s.waiting))
	p := s.waiting[i]
	s.waiting = slices.Delete(s.waiting, i, i+1)
	s.points++
	k := s.due(p)
	switch {
	case k == S3Away:
		s.away = awayFor
	case k == S3Full:
		s.full = fullFor
	case k == none && s.full > 0 && strings.Contains(p.name, " "+http.MethodPut+" "):
		s.full--
		k = S3Full
	case k == none && s.away > 0 && slices.Contains(p.can, S3Away):
		s.away--
		k = S3Down
	}
	s.note("%d %v %s %s", s.points, time.Since(s.began), p.name, k)
	p.goOn <- k

	return true
}

// due returns the fault that strikes a point.
func (s *scheduler) due(p *point) Kind {
	for i, f := range s.faults {
		if f.At > s.points {
			break
		}
		if slices.Contains(p.can, f.Kind) {
			s.faults = slices.Delete(s.faults, i, i+1)
			s.struck[f.Kind]++

			return f.Kind
		}
	}

	return none
}

// note adds a line to the trace, after those of the activities that failed at one moment. Which of them failed first is
// not determined, so they are sorted.
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
