package simulation

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"

	"github.com/collabui/collabui/internal/care/verify"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/test/kit/fakepolicy"
)

// Played is the outcome of a simulated run.
type Played struct {
	Digest   string // of the run's end
	Points   int
	Struck   map[FaultKind]int
	Effects  map[string]int // effects of faults and actors
	Took     time.Duration  // on the simulated clock
	Trace    string         // empty if it was not kept
	Problems []string       // violations: the run did not end, or its store is not sound

	objects []entry // of its store, at its end
}

// limit is the simulated time in which a run must end: faults stop after a while.
const limit = 2 * 365 * 24 * time.Hour

// Run describes a simulation.
type Run struct {
	Spec spec.Spec
	Step time.Duration // duration of an optimiser step
}

// short is a run with all parts and hardly any work. Its critic is a chat model. If the seed is odd, its policies lag,
// and its agents see a part of the screen each, and speak.
func short(seed uint64, name string) Run {
	specification := fakepolicy.Specification(name)
	specification.Staleness = int(seed % 2)
	if seed%2 == 1 {
		specification.Views.Kind = agents.RegionViews
		specification.Speech = true
		specification.Reads = agents.ReadBack
		specification.Critic.Asks = 6 // the bound is reached
		specification.Pairs.Kind = spec.PairsResist
		specification.Train.SFT = 0.5
	}
	specification.Decoding.Temperatures = []float64{0.2, 0.5}
	specification.Models = map[spec.Role]spec.Model{"m": {
		BaseURL: "http://simulation/v1", Model: "m-1", Timeout: 60, MaxTokens: 500, RequestsPerMinute: 30,
		Schema: spec.SchemaNone,
	}}
	specification.Critic.Model = "m"
	specification.FailedShare = 0.6 // some answers of the critic cannot be read

	return Run{Spec: specification}
}

// Play simulates a short run under faults. The seed determines the order of everything that happens.
func Play(t *testing.T, seed uint64, faults []Fault, keep bool) Played {
	return short(seed, "sim").Play(t, seed, faults, keep)
}

// Play simulates a run under faults.
func (r Run) Play(t *testing.T, seed uint64, faults []Fault, keep bool) (out Played) {
	var others []entry
	if acts(faults) {
		others = elders(t, seed)
	}
	server := miniredis.RunT(t) // outside the simulated clock
	bubble(t, func(t *testing.T) {
		w := newWorld(t, r, server, newScheduler(seed, faults, keep), others)
		defer w.stop()
		defer func() { _ = w.redis.Close() }()
		go w.run()
		began := time.Now()
		end := w.all(t.Context())
		out = Played{
			Digest: end.FinalDigest, Points: w.points, Struck: w.struck, Effects: w.effects, Took: time.Since(began),
			Problems: append(w.problems, w.audit(t.Context())...), objects: w.s3.disk.list("", 0),
		}
		if w.trace != nil {
			out.Trace = w.trace.String()
		}
	})

	return out
}

// bubble plays something on a simulated clock. If the workflow has ended meanwhile, the test environment leaves behind
// child workflows, and activities that wait for their next try.
func bubble(t *testing.T, play func(t *testing.T)) {
	defer func() {
		if p := recover(); p != nil && !strings.Contains(fmt.Sprint(p), "blocked goroutines remain") {
			panic(p)
		}
	}()
	synctest.Test(t, play)
}

// world is everything around one run.
type world struct {
	*scheduler
	Run
	first   int // writes of the store before the run
	s3      *s3
	second  *s3 // to which copies are made
	bucket  *store.S3
	redis   *redis.Client
	crew    map[string]methods // by version of the workers
	build   int                // upgrades of the usual version
	more    []string           // training templates that the environment has besides
	learned func(string) bool  // whether a policy acts rightly; nil: none does
	bodies  sync.WaitGroup
	people  sync.WaitGroup // running people and other actors
	failed  int            // failed activities
	begun   int            // most beginnings of a run that can still end
	failure int            // number of failed activities at which the run is given up

	env      *testsuite.TestWorkflowEnvironment // of the current beginning
	playing  string                             // the name of the run
	present  *beginning
	past     []*beginning
	restored *beginning // to which Temporal is reset; nil if it has lost everything
	clock    chan struct{}
	lost     bool // whether Temporal's data are lost
	live     map[*execution]bool
	begins   int               // how often the run began
	open     []string          // child workflows
	parents  map[string]string // of the child workflows
	stage    stage             // of the run
	trained  chan struct{}     // receives when someone continues a stopped run
	making   map[string]bool   // runs being made by forks and copies
	forks    []string          // existing forks
	problems []string
}

func newWorld(t *testing.T, run Run, server *miniredis.Miniredis, s *scheduler, others []entry) *world {
	w := &world{
		scheduler: s, Run: run, live: map[*execution]bool{}, trained: make(chan struct{}, 1),
		making: map[string]bool{}, begun: 80 + 2*run.Spec.Epochs + len(s.faults), failure: 1000 + 200*len(s.faults),
	}
	w.s3 = &s3{scheduler: s, disk: &disk{}}
	w.second = &s3{scheduler: s, disk: &disk{}}
	w.s3.disk.versioned = s.seed%4 < 2
	w.s3.disk.removing = w.guard(w.s3.disk)
	w.second.disk.removing = w.guard(w.second.disk)
	s.restart = w.lose
	s.happen = w.arrange
	w.redis = s.redis(server)
	var err error
	if w.bucket, err = w.s3.open(); err != nil {
		t.Fatal(err)
	}
	for _, o := range others {
		w.s3.disk.putOnce(o.key, o.body)
	}
	if len(others) > 0 {
		time.Sleep(10 * grace)
	}
	w.record()
	w.first = w.s3.disk.writes

	return w
}

// record records the specification of the run, as by `collabui train`.
func (w *world) record() {
	raw, err := store.Seal(w.Spec)
	if err != nil {
		w.violated("%v", err)
	}
	w.s3.disk.putOnce(runs.Run(w.Spec.Name).Spec().Key, raw)
}

// violated records a violation.
func (w *world) violated(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.problems = append(w.problems, fmt.Sprintf(format, args...))
}

// all plays the run until it has ended and no actor is active, and then its forks. It returns the end of the run.
func (w *world) all(ctx context.Context) runs.End {
	watching, stop := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() { w.watch(watching) })
	defer func() { stop(); watch.Wait() }()

	end, err := w.play(w.Spec.Name)
	for err == nil && w.continued() {
		end, err = w.play(w.Spec.Name)
	}
	w.bodies.Wait() // activities that no workflow waits for continue
	if err != nil {
		w.violated("the run ended with %v", err)
	}
	for _, name := range w.presentForks() {
		got, err := w.play(name)
		w.bodies.Wait()
		switch {
		case err != nil:
			w.violated("the fork ended with %v", err)
		case got.FinalDigest != end.FinalDigest && w.effects[varied] == 0:
			w.violated("the digest of the fork is %s, not %s", got.FinalDigest, end.FinalDigest)
		default:
			w.effect("an unchanged fork ended with the digest of its original")
		}
	}

	return end
}

// presentForks returns the names of the forks in the store. A store that was reset to an earlier state may have lost
// some.
func (w *world) presentForks() []string {
	return slices.DeleteFunc(slices.Clone(w.forks), func(name string) bool {
		return w.s3.disk.get(runs.Run(name).Spec().Key, 0).body == nil
	})
}

// continued waits until someone continues the run, and returns false if no actor is active any more.
func (w *world) continued() bool {
	quiet := make(chan struct{})
	go func() { w.people.Wait(); close(quiet) }()
	select {
	case <-w.trained:
		return true
	case <-quiet:
	}
	select {
	case <-w.trained:
		return true
	default:
		return false
	}
}

// audit checks the run's objects in the store.
func (w *world) audit(ctx context.Context) (out []string) {
	memory := w.s3.disk.copied(ctx)
	for _, name := range append([]string{w.Spec.Name}, w.presentForks()...) {
		problems, err := verify.Run(ctx, memory, name)
		if err != nil {
			out = append(out, err.Error())
		}
		for _, problem := range problems {
			out = append(out, problem.String())
		}
	}

	return append(out, fsck(ctx, memory)...)
}

// fsck returns the problems of a store.
func fsck(ctx context.Context, bucket store.Bucket) (out []string) {
	report, err := verify.Fsck(ctx, bucket)
	if err != nil {
		out = append(out, err.Error())
	}
	for _, problem := range report.Problems {
		out = append(out, problem.String())
	}

	return out
}

// execution begins a try of an activity.
func (w *world) execution(info activity.Info, args []any, cancel context.CancelCauseFunc) *execution {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := &execution{
		name:   fmt.Sprintf("%d %s%.80v#%d", w.begins, strings.ToLower(info.ActivityType.Name), args, info.Attempt),
		giveUp: make(chan struct{}), cancel: cancel,
	}
	w.live[e] = true

	return e
}

// over records how an activity ended. It ends a run whose activities fail forever.
func (w *world) over(e *execution, err error) {
	w.mu.Lock()
	delete(w.live, e)
	if err != nil {
		w.failing = append(w.failing, e.name+" failed\n") // which of several errors is the first is not determined
		w.failed++
	}
	ends := w.failed == w.failure
	w.mu.Unlock()
	if ends {
		w.lose()
	}
}
