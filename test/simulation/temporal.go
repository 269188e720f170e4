package simulation

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/workflows"
)

// stage is the state of a run as people see it.
type stage int

// The stages.
const (
	running stage = iota
	stopped
	ended
)

// beginning is one execution of the workflow of a run.
type beginning struct {
	in      workflows.RunInput
	results []result       // of activities, in the order in which Temporal received them
	known   map[string]any // results that are in the history already
	counted map[string]int // activities by name and arguments
}

// result is the result of an activity. Its key has the workflow, the activity, its arguments, and their number.
type result struct {
	key   string
	value any
}

// from begins with an input and a history.
func from(in workflows.RunInput, history []result) *beginning {
	b := &beginning{in: in, results: slices.Clone(history), known: map[string]any{}, counted: map[string]int{}}
	for _, r := range history {
		b.known[r.key] = r.value
	}

	return b
}

// environment returns a workflow environment with all workflows and activities, whose workers the scheduler may kill.
func (w *world) environment() *testsuite.TestWorkflowEnvironment {
	var ts testsuite.WorkflowTestSuite
	ts.SetLogger(silent{})
	env := ts.NewTestWorkflowEnvironment()
	env.SetTestTimeout(10 * limit)
	env.SetWorkerOptions(worker.Options{
		DeadlockDetectionTimeout: time.Hour,
		Interceptors:             []interceptor.WorkerInterceptor{&workers{world: w}},
	})
	for _, f := range workflows.All {
		env.RegisterWorkflow(f)
	}
	for _, a := range w.activities(usual) {
		env.RegisterActivity(a)
	}
	env.RegisterActivity(w.Clock)

	return env
}

// Clock is an activity that continues as long as its workflow. Meanwhile, the clock of the test environment does not
// skip ahead of the simulated clock.
func (w *world) Clock() error {
	<-w.clock

	return nil
}

// lose loses Temporal's data. Running activities do not learn of it.
func (w *world) lose() { w.setBack(nil) }

// setBack resets Temporal. Running activities do not learn of it.
func (w *world) setBack(to *beginning) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for e := range w.live {
		e.once.Do(func() { close(e.giveUp) })
	}
	w.lost = true
	w.restored = to
	if w.env != nil {
		w.env.CancelWorkflow()
	}
}

func (w *world) isLost() bool {
	w.mu.Lock()
	defer w.mu.Unlock()

	return w.lost
}

// setTemporalBack resets Temporal to an earlier moment of the run.
func (w *world) setTemporalBack() bool {
	w.mu.Lock()
	n := 0
	for _, b := range w.past {
		n += len(b.results)
	}
	n = w.order.IntN(n + 1)
	var to *beginning
	for _, b := range w.past {
		to = from(b.in, b.results[:min(n, len(b.results))])
		if n <= len(b.results) {
			break
		}
		n -= len(b.results)
	}
	w.mu.Unlock()
	if to == nil {
		return false
	}
	w.setBack(to)

	return true
}

// begin prepares the next execution of the workflow of a run.
func (w *world) begin(b *beginning) *testsuite.TestWorkflowEnvironment {
	env := w.environment()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lost = false
	w.open = nil
	w.parents = map[string]string{}
	w.stage = running
	w.begins++
	w.env = env
	w.present = b
	w.clock = make(chan struct{})
	w.past = append(w.past, b)

	return env
}

// play plays a run to its end, through every continue-as-new, every loss of Temporal's data and every stop.
func (w *world) play(name string) (runs.End, error) {
	var end runs.End
	w.playing = name
	w.past = nil
	next := from(workflows.RunInput{Name: name}, nil)
	for range w.begun {
		env := w.begin(next)
		env.ExecuteWorkflow(workflows.Run, next.in)
		close(w.clock)

		err := env.GetWorkflowError()
		var again *workflow.ContinueAsNewError
		var failed *temporal.ApplicationError
		next = from(workflows.RunInput{Name: name}, nil)
		switch {
		case w.gaveUp():
			return end, fmt.Errorf("more than %d failures: %s", w.failure, w.status())
		case w.isLost() && err != nil:
			if w.restored != nil {
				next = w.restored
			}
		case errors.As(err, &again):
			in := workflows.RunInput{}
			if err := converter.GetDefaultDataConverter().FromPayloads(again.Input, &in); err != nil {
				return end, err
			}
			next = from(in, nil)
		case errors.As(err, &failed) && failed.Type() == workflows.ErrStopped:
			w.become(stopped)
			if !w.continued() {
				return end, errors.New("nobody continues the run, which was stopped")
			}
		case err != nil:
			return end, fmt.Errorf("%w: %s", err, w.status())
		default:
			w.become(ended)

			return end, env.GetWorkflowResult(&end)
		}
	}

	return end, errors.New("too many beginnings")
}

func (w *world) gaveUp() bool {
	w.mu.Lock()
	defer w.mu.Unlock()

	return w.failed >= w.failure
}

func (w *world) become(s stage) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stage = s
}

func (w *world) stageNow() stage {
	w.mu.Lock()
	defer w.mu.Unlock()

	return w.stage
}

// status describes why a run waits.
func (w *world) status() string {
	st, err := w.ask()

	return fmt.Sprintf("%+v, %v", st, err)
}

// ask queries the run.
func (w *world) ask() (st workflows.Status, err error) {
	encodedValue, err := w.env.QueryWorkflow(workflows.QueryStatus)
	if err == nil {
		err = encodedValue.Get(&st)
	}

	return st, err
}

// endChild cancels or terminates an open child workflow, if there is one.
func (w *world) endChild(terminate bool) bool {
	w.mu.Lock()
	open := slices.Sorted(slices.Values(w.open))
	w.mu.Unlock()
	if len(open) == 0 || w.isLost() {
		return false
	}
	id := open[w.order.IntN(len(open))]
	w.mu.Lock()
	w.note("%s ends", id)
	w.mu.Unlock()
	ends := slices.DeleteFunc(open, func(x string) bool { return x != id && !(terminate && w.isBelow(x, id)) })
	for _, x := range slices.Backward(ends) {
		_ = w.env.SignalWorkflowByID(x, signalEnd, terminate) // a child that has ended meanwhile needs no signal
	}

	return true
}

// isBelow reports whether a workflow is a child of another one, or of its children, and ends with it.
func (w *world) isBelow(id, above string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id != "" && id != above {
		id = w.parents[id]
	}

	return id != ""
}

// signalEnd cancels a workflow, or ends it as if someone had terminated it.
const signalEnd = "simulation: end"

func (x *workers) InterceptWorkflow(
	_ workflow.Context, next interceptor.WorkflowInboundInterceptor,
) interceptor.WorkflowInboundInterceptor {
	base := interceptor.WorkflowInboundInterceptorBase{Next: next}

	return &inboundWorkflow{WorkflowInboundInterceptorBase: base, world: x.world}
}

type inboundWorkflow struct {
	interceptor.WorkflowInboundInterceptorBase
	world *world
}

func (x *inboundWorkflow) Init(outbound interceptor.WorkflowOutboundInterceptor) error {
	base := interceptor.WorkflowOutboundInterceptorBase{Next: outbound}

	return x.Next.Init(&outboundWorkflow{base})
}

// ExecuteWorkflow keeps the clock of the run's workflow, and records which child workflows are open.
func (x *inboundWorkflow) ExecuteWorkflow(
	ctx workflow.Context, in *interceptor.ExecuteWorkflowInput,
) (any, error) {
	info := workflow.GetInfo(ctx)
	if info.ParentWorkflowExecution == nil {
		cctx := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: math.MaxInt64})
		workflow.ExecuteActivity(cctx, x.world.Clock)

		return x.Next.ExecuteWorkflow(ctx, in)
	}
	id := info.WorkflowExecution.ID
	x.world.opened(id, info.ParentWorkflowExecution.ID)
	var value any
	var err error
	over := false
	own, cancel := workflow.WithCancel(ctx)
	workflow.Go(own, func(ctx workflow.Context) {
		value, err = x.Next.ExecuteWorkflow(ctx, in)
		over = true
	})
	workflow.Go(ctx, func(ctx workflow.Context) {
		var terminate bool
		workflow.GetSignalChannel(ctx, signalEnd).Receive(ctx, &terminate)
		if !terminate {
			cancel()
		} else if !over {
			err = &temporal.TerminatedError{}
			over = true
		}
	})
	alone, _ := workflow.NewDisconnectedContext(ctx)
	waited := workflow.Await(alone, func() bool { return over })
	x.world.closed(id)

	return value, errors.Join(waited, err)
}

// opened records that a child workflow begins.
func (w *world) opened(id, parent string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open = append(w.open, id)
	w.parents[id] = parent
}

// closed records that a child workflow ends.
func (w *world) closed(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open = slices.DeleteFunc(w.open, func(x string) bool { return x == id })
	delete(w.parents, id)
}

type outboundWorkflow struct {
	interceptor.WorkflowOutboundInterceptorBase
}

// ExecuteActivity leaves out the timeouts of one try, because the test environment does not distinguish tries.
func (x *outboundWorkflow) ExecuteActivity(ctx workflow.Context, name string, args ...any) workflow.Future {
	ctx = workflow.WithHeartbeatTimeout(ctx, 0)

	return x.Next.ExecuteActivity(workflow.WithStartToCloseTimeout(ctx, math.MaxInt64), name, args...)
}

// key returns the key of an activity's result. The first try of an activity counts it; later tries get the same key.
func (b *beginning) key(workflow, name string, args []any, first bool) string {
	raw, _ := json.Marshal(args) // references and numbers can always be encoded
	key := fmt.Sprintf("%s %s %s", workflow, name, raw)
	if first {
		b.counted[key]++
	}

	return fmt.Sprintf("%s %d", key, b.counted[key])
}
