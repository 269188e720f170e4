package simulation

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/internal/store/verify"
	"github.com/collabui/collabui/test/kit/fakepolicy"
	"github.com/collabui/collabui/workflows"
)

// Played is a run that was simulated.
type Played struct {
	Digest   string // of the run's end
	Points   int
	Struck   map[Kind]int
	Took     time.Duration // on the simulated clock
	Trace    string        // if it was kept
	Problems []string      // violations: the run did not end, or its store is not sound
}

// limit is the simulated time in which a run must end: faults stop after a while.
const limit = 120 * 24 * time.Hour

// Run is what is simulated.
type Run struct {
	Spec spec.Spec
	Step time.Duration // what an optimiser step takes
}

// short is a run with all parts and hardly any work. Its critic is a chat model. Its policies lag if the seed is odd.
func short(seed uint64) Run {
	s := fakepolicy.Specification("sim")
	s.Staleness = int(seed % 2)
	s.Models = map[spec.Role]spec.Model{"m": {
		BaseURL: "http://simulation/v1", Model: "m-1", Timeout: 60, MaxTokens: 500, RequestsPerMinute: 30,
	}}
	s.Critic.Model = "m"

	return Run{Spec: s}
}

// Play simulates a short run under faults. The order of everything that happens follows from the seed.
func Play(t *testing.T, seed uint64, faults []Fault, keep bool) Played {
	return short(seed).Play(t, seed, faults, keep)
}

// Play simulates a run under faults.
func (r Run) Play(t *testing.T, seed uint64, faults []Fault, keep bool) (out Played) {
	// The test environment leaves an activity waiting for its next try if its workflow has ended meanwhile.
	defer func() {
		if p := recover(); p != nil && !strings.Contains(fmt.Sprint(p), "blocked goroutines remain") {
			panic(p)
		}
	}()
	server := miniredis.RunT(t) // outside of the simulated clock
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, r, server, seed, faults, keep)
		defer w.stop()
		defer func() { _ = w.redis.Close() }()
		go w.run()
		began := time.Now()
		end, err := w.play()
		w.bodies.Wait() // activities that nobody waits for run on
		out = Played{
			Digest: end.FinalDigest, Points: w.points, Struck: w.struck, Took: time.Since(began),
		}
		if w.trace != nil {
			out.Trace = w.trace.String()
		}
		if err != nil {
			out.Problems = append(out.Problems, "the run ended with "+err.Error())
		}
		out.Problems = append(out.Problems, w.audit(t.Context())...)
	})

	return out
}

// world is everything around one run.
type world struct {
	*scheduler
	Run
	objects *store.Memory
	bucket  store.Bucket
	redis   *redis.Client
	others  map[string]reflect.Value // activities by name, as a worker of another version does them
	lost    bool                     // Temporal's data
	live    map[*execution]bool
	bodies  sync.WaitGroup
	begins  int // of the run
	failed  int // activities

	// A run that begins more often than that, or of which more activities fail, is not expected to end.
	begun, failures int
}

func newWorld(t *testing.T, r Run, server *miniredis.Miniredis, seed uint64, faults []Fault, keep bool) *world {
	s := newScheduler(seed, faults, keep)
	w := &world{
		scheduler: s, Run: r, objects: &store.Memory{}, live: map[*execution]bool{},
		begun: 40 + 2*r.Spec.Epochs + len(faults), failures: 500 + 100*len(faults),
	}
	s.restart = w.lose
	w.redis = s.redis(server)
	var err error
	w.bucket, err = store.Open(store.Config{
		Endpoint: "s3.simulation", Bucket: bucketName, TLS: true,
		Transport: &s3{scheduler: s, objects: w.objects},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.others = w.methods()
	record := func() (spec.Spec, error) { return w.Spec, nil }
	if _, _, err := runs.Run(w.Spec.Name).Spec().Record(t.Context(), w.objects, record); err != nil {
		t.Fatal(err)
	}

	return w
}

// lose loses Temporal's data. Activities that run do not hear of it. The old workflows begin no more, and end when
// nothing is left to wait for.
func (w *world) lose() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for e := range w.live {
		e.once.Do(func() { close(e.giveUp) })
	}
	w.lost = true
}

func (w *world) isLost() bool {
	w.mu.Lock()
	defer w.mu.Unlock()

	return w.lost
}

// play plays the run to its end, through every continue-as-new and every loss of Temporal's data.
func (w *world) play() (runs.End, error) {
	var end runs.End
	in := workflows.RunInput{Name: w.Spec.Name}
	for range w.begun {
		env := w.environment()
		w.mu.Lock()
		w.lost = false
		w.begins++
		w.mu.Unlock()
		env.ExecuteWorkflow(workflows.Run, in)

		err := env.GetWorkflowError()
		var next *workflow.ContinueAsNewError
		if errors.As(err, &next) && !w.isLost() {
			in = workflows.RunInput{}
			if err := converter.GetDefaultDataConverter().FromPayloads(next.Input, &in); err != nil {
				return end, err
			}

			continue
		}
		if in = (workflows.RunInput{Name: w.Spec.Name}); err != nil && w.isLost() {
			continue
		}
		if err != nil {
			return end, fmt.Errorf("%w: %s", err, w.status(env))
		}

		return end, env.GetWorkflowResult(&end)
	}

	return end, errors.New("too many beginnings")
}

// status says why a run waits.
func (w *world) status(env *testsuite.TestWorkflowEnvironment) string {
	var st workflows.Status
	v, err := env.QueryWorkflow(workflows.QueryStatus)
	if err == nil {
		err = v.Get(&st)
	}

	return fmt.Sprintf("%+v, %v", st, err)
}

// audit checks what the run left in the store.
func (w *world) audit(ctx context.Context) (out []string) {
	problems, err := verify.Run(ctx, w.objects, w.Spec.Name)
	if err != nil {
		out = append(out, err.Error())
	}
	report, err := verify.Fsck(ctx, w.objects)
	if err != nil {
		out = append(out, err.Error())
	}
	for _, p := range append(problems, report.Problems...) {
		out = append(out, p.Key+" "+p.Detail)
	}

	return out
}

// execution begins a try of an activity.
func (w *world) execution(i activity.Info, args []any, cancel context.CancelCauseFunc) *execution {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := &execution{
		name:   fmt.Sprintf("%d %s%.80v#%d", w.begins, strings.ToLower(i.ActivityType.Name), args, i.Attempt),
		giveUp: make(chan struct{}), cancel: cancel,
	}
	w.live[e] = true

	return e
}

// over notes how an activity ended. A run whose activities fail forever ends.
func (w *world) over(e *execution, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.live, e)
	if err != nil {
		w.failing = append(w.failing, e.name+" failed\n") // which of several errors is the first is not determined
		w.failed++
	}
	w.lost = w.lost || w.failed >= w.failures
}
