// Package activities holds the effects of a run, each recorded once: they may run twice, at once or half. It knows the environments, models, trainers
// and the store; it must not import workflows.
package activities

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/process/events"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/policy/limits"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/trainer"
)

// Deps are what activities work with. Fields that a worker's roles do not need may be nil.
type Deps struct {
	Bucket   store.Bucket
	Chat     chat.Model
	Endpoint func(spec.Model) (chat.Model, error)                       // a chat endpoint of a specification; its key is this process's
	Load     func(ctx context.Context, policy string, quorum int) error // publishes a policy to so many servers, 0: to all
	Suites   map[string]envadapters.Suite                               // that are open, by name
	Open     func(envadapters.Options) (envadapters.Suite, error)       // opens others; nil: none
	Trainers map[string]trainer.Trainer                                 // by the names of specifications
	Catalog  spec.Catalog                                               // knows which environments have recorded tasks
	Render   func(domain.Action) (string, error)                        // the embedded policy's wording of an action
	Fits     func(prompt, answer string) bool                           // whether the embedded policy can say the answer
	Emit     func(run string, e events.Event)                           // live progress; may lose events
	Threads  int                                                        // of one update

	Limits *limits.Limiter // of chat endpoints; nil: none

	ledger ledger
	mu     sync.Mutex
	specs  map[string]spec.Spec
	opened map[string]envadapters.Suite // by the digest of their options
}

// spec reads a run's resolved specification; it is written once, so it is kept.
func (d *Deps) spec(ctx context.Context, run string) (spec.Spec, error) {
	d.mu.Lock()
	s, ok := d.specs[run]
	d.mu.Unlock()
	if ok {
		return s, nil
	}
	s, _, err := runs.Run(run).Spec().Read(ctx, d.Bucket)
	if err != nil {
		return s, fmt.Errorf("specification of run %q: %w", run, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.specs == nil {
		d.specs = map[string]spec.Spec{}
	}
	d.specs[run] = s
	return s, nil
}

// suite gives the suite with these options; it stays open as long as the process.
func (d *Deps) suite(o envadapters.Options) (envadapters.Suite, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	id := runs.Digest(o)
	if s, ok := d.opened[id]; ok {
		return s, nil
	}
	if s, ok := d.Suites[o.Suite]; ok && runs.Digest(envadapters.Options{Suite: o.Suite}) == id {
		return s, nil
	}
	if d.Open == nil {
		return nil, fault.New(fault.Invalid, "this worker has no environment %q", o.Suite)
	}
	s, err := d.Open(o)
	if err != nil {
		return nil, err
	}
	if d.opened == nil {
		d.opened = map[string]envadapters.Suite{}
	}
	d.opened[id] = s
	return s, nil
}

// hostname is this machine's, for people.
func hostname() string {
	h, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return h
}

// CloseSuites closes the suites that are open. (It is no method: every exported one of Deps would be an activity.)
func CloseSuites(d *Deps) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.opened {
		_ = s.Close()
	}
	for _, s := range d.Suites {
		_ = s.Close()
	}
}

func (d *Deps) emit(run string, e events.Event) {
	if d.Emit != nil {
		d.Emit(run, e)
	}
}

// system gives the system that rolls out in an epoch: that of the commit before, or the base policy n times.
func (d *Deps) system(ctx context.Context, run string, epoch int, agents int) (runs.System, store.Ref, error) {
	if epoch > 1 {
		e, ref, err := runs.Run(run).Epoch(epoch-1).Read(ctx, d.Bucket)
		return e.System, ref, err
	}
	b, ref, err := runs.Run(run).Base().Read(ctx, d.Bucket)
	s := runs.System{}
	for range agents {
		s.Policies = append(s.Policies, b.Policy)
	}
	return s, ref, err
}

// retryable says once, for the whole system, which kinds of fault another try can help.
func retryable(k fault.Kind) bool {
	switch k {
	case fault.Invalid, fault.Corrupt, fault.Fatal, fault.Exhausted:
		return false
	}
	return true
}

// done maps an activity's error to Temporal: its kind is the error's type, and retries follow from the kind.
func done[T any](v T, err error) (T, error) {
	var canceled *temporal.CanceledError
	if err == nil || errors.As(err, &canceled) || errors.Is(err, context.Canceled) {
		return v, err
	}
	k := fault.KindOf(err)
	o := temporal.ApplicationErrorOptions{NonRetryable: !retryable(k), Cause: err}
	if k == fault.Throttled {
		o.NextRetryDelay = throttledPause
		if after := fault.RetryAfter(err); after > 0 {
			o.NextRetryDelay = min(after, maxRetryAfter)
		}
	}
	return v, temporal.NewApplicationErrorWithOptions(err.Error(), string(k), o)
}

// How long a throttled activity waits before its next try: what the server asks for, or a while where it says nothing.
const (
	throttledPause = 5 * time.Second
	maxRetryAfter  = 10 * time.Minute
)

// MaxTries is how often an activity is tried before the run pauses with its reason: with pauses of up to 30 s, an outage of some 18 minutes.
const MaxTries = 40

// heartbeatEvery is well below the heartbeat timeout of 10 s.
const heartbeatEvery = 2 * time.Second

// heartbeat beats from its own goroutine until stop is called, with the newest details.
func heartbeat(ctx context.Context) (say func(string), stop func()) {
	var mu sync.Mutex
	detail := "started"
	end := make(chan struct{})
	go func() { // an activity that ends before the first beat costs the server no write
		t := time.NewTicker(heartbeatEvery)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				mu.Lock()
				d := detail
				mu.Unlock()
				activity.RecordHeartbeat(ctx, d)
			case <-end:
				return
			}
		}
	}()
	return func(s string) { mu.Lock(); detail = s; mu.Unlock() }, func() { close(end) }
}

// parallel runs f for 0..n-1 on a few goroutines and gives the first error.
func parallel(ctx context.Context, n, width int, f func(context.Context, int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int, n)
	for i := range n {
		next <- i
	}
	close(next)
	var wg sync.WaitGroup
	for range min(width, n) {
		wg.Go(func() {
			for i := range next {
				if ctx.Err() != nil {
					return
				}
				if err := f(ctx, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}
