// Package guard lets a worker do only what belongs to its store, and, of a run, only what its namespace of Temporal
// drives. It knows no activity.
package guard

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.temporal.io/sdk/interceptor"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// Guard refuses activities of another store, and of a run that another namespace drives. Records are written once, so
// what a namespace does in the seconds until it is refused changes nothing: the other one adopts it.
type Guard struct {
	interceptor.WorkerInterceptorBase
	Bucket store.Bucket
	Where  string     // endpoint and bucket, for people
	Claim  runs.Claim // by which this worker's namespace claims a run, without store and time

	mu     sync.Mutex
	own    store.Identity
	read   time.Time // when own was read
	claims map[string]*claimed
}

// claimed is the newest claim of a run, as far as this process has looked.
type claimed struct {
	mu     sync.Mutex
	newest runs.Claim
	number int
	read   time.Time
}

// checkEvery is how often a worker reads which store it has, and who claims a run.
const checkEvery = 5 * time.Second

// otherStore is how long an activity that met a worker of another store waits before its next try, so that workers of
// its own store have time to take it.
const otherStore = time.Minute

// InterceptActivity guards the activities of a worker.
func (g *Guard) InterceptActivity(
	_ context.Context, next interceptor.ActivityInboundInterceptor,
) interceptor.ActivityInboundInterceptor {
	return &guarded{interceptor.ActivityInboundInterceptorBase{Next: next}, g}
}

type guarded struct {
	interceptor.ActivityInboundInterceptorBase
	guard *Guard
}

func (g *guarded) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	if err := g.guard.admit(ctx); err != nil {
		return nil, activities.Mapped(ctx, err)
	}

	return g.Next.ExecuteActivity(ctx, in)
}

// admit refuses an activity that this worker must not do. An activity whose workflow names no store, because another
// program started it, is done.
func (g *Guard) admit(ctx context.Context) error {
	belonging, ok := BelongingOf(ctx)
	if !ok {
		return nil
	}
	own, err := g.identify(ctx)
	if err != nil {
		return err
	}
	if own.ID != belonging.Store {
		return fault.After(fault.Throttled, otherStore, "this belongs to the store %s at %s, but the worker on %s has "+
			"the store %s at %s: give the worker the address and the bucket of the other ones. If its store has taken "+
			"the place of the former one, stop what was started there, and start it again with the same command",
			belonging.Store, belonging.Where, activities.Hostname(), own.ID, g.Where)
	}
	if belonging.Run == "" || activities.NameOf(ctx) == postName { // people are also notified that the run is refused
		return nil
	}

	return g.driven(ctx, runs.Run(belonging.Run), own)
}

// Here returns a context in which workflows are started that belong to this worker's store, and to no run.
func (g *Guard) Here(ctx context.Context) (context.Context, error) {
	own, err := g.identify(ctx)

	return Belonging{Store: own.ID, Where: g.Where}.In(ctx), err
}

// postName is the name of the activity that writes a notice.
const postName = "Post"

// identify returns the identity of this worker's store, as it was a few seconds ago: a bucket may be replaced.
func (g *Guard) identify(ctx context.Context) (store.Identity, error) {
	g.mu.Lock()
	own := g.own
	fresh := time.Since(g.read) < checkEvery
	g.mu.Unlock()
	if fresh {
		return own, nil
	}
	own, err := store.Identify(ctx, g.Bucket)
	if err == nil {
		g.mu.Lock()
		g.own = own
		g.read = time.Now()
		g.mu.Unlock()
	}

	return own, err
}

// driven refuses a run that another namespace has claimed since. A run without a claim is one that another
// workflow has begun: its first activity claims it.
func (g *Guard) driven(ctx context.Context, run runs.Run, own store.Identity) error {
	mine := g.Claim
	mine.Store = own.ID
	mine.At = time.Now().UTC()
	newest, err := g.newest(ctx, run, mine)
	if err != nil || newest.Same(mine) {
		return err
	}
	if newest.Store != own.ID {
		return fault.New(fault.Invalid, "the newest claim of run %s was made in the store %s; the store %s at %s has "+
			"a copy of it. Start the run here with `collabui train %[1]s`, then `collabui resume %[1]s`", run,
			newest.Store, own.ID, g.Where)
	}

	return fault.New(fault.Invalid, "run %s is driven by the namespace %s of the Temporal at %s since %s, when %s "+
		"claimed it: the namespace %s at %s does nothing for it any more. Stop it here with `collabui stop %[1]s`. If "+
		"it is to continue here instead, take it back with `collabui train %[1]s`, then `collabui resume %[1]s`", run,
		newest.Name, newest.Address, newest.At.Format(time.DateTime), newest.Who, mine.Name, mine.Address)
}

// newest returns the newest claim of a run, as it was a few seconds ago.
func (g *Guard) newest(ctx context.Context, run runs.Run, mine runs.Claim) (runs.Claim, error) {
	g.mu.Lock()
	if g.claims == nil {
		g.claims = map[string]*claimed{}
	}
	key := mine.Store + "/" + string(run)
	c := g.claims[key]
	if c == nil {
		c = &claimed{}
		g.claims[key] = c
	}
	g.mu.Unlock()

	c.mu.Lock()
	newest, number := c.newest, c.number
	fresh := time.Since(c.read) < checkEvery
	c.mu.Unlock()
	if fresh {
		return newest, nil
	}
	newest, number, err := run.Claimed(ctx, g.Bucket, number)
	if errors.Is(err, store.ErrAbsent) { // another run may have the name now
		newest, number, err = run.Claimed(ctx, g.Bucket, 0)
	}
	if err == nil && number == 0 { // only the first claim is made here: the store may be late to show others
		if _, _, _, err = run.Claim(1).Write(ctx, g.Bucket, mine); err == nil {
			newest, number, err = run.Claimed(ctx, g.Bucket, 1)
		}
	}
	if err != nil {
		return newest, err
	}
	c.mu.Lock()
	c.newest = newest
	c.number = number
	c.read = time.Now()
	c.mu.Unlock()

	return newest, nil
}
