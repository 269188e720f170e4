package endpoints

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// ledger computes what runs have spent from the recorded calls of all workers.
type ledger struct {
	mu    sync.Mutex
	runs  map[string]*spending
	reads singleflight.Group // so that no call waits for a lock while the store is slow
}

// spending is what one run has spent.
type spending struct {
	identity     string          // identity of the run; a name may be reused after a deletion
	counted      map[string]bool // keys of counted calls
	spent        runs.Spent
	budget       spec.Budget
	warnedBudget spec.Budget // the budget for which people have been warned
	next         time.Time   // time of the next reading

	prices  map[user]runs.Spent    // spent by each user
	open    runs.Spent             // expected of this worker's calls under way
	pricing map[user]chan struct{} // first calls under way; closed when they have ended
}

// user is a role that calls an endpoint. The mean of its recorded calls is the expected price of its next one.
type user struct{ role, endpoint string }

// A ledger is read again after ledgerEvery, or after ledgerShare times the duration of the last reading if that is
// longer, so a run of a million calls spends no larger share of time on its ledger than a small one. Calls of this
// worker count immediately. So a budget is exceeded at most by what calls under way cost above the mean of their users,
// by a first call for each user, and by the calls of other workers since the last reading.
const (
	ledgerEvery = 5 * time.Second
	ledgerShare = 20
)

// warnShare is the share of a budget at which people are warned.
const warnShare = 0.8

// warning returns a warning if most of a budget is spent, once for each budget. Otherwise it returns "".
func (l *ledger) warning(run string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	x := l.spendingOf(run)
	money := x.budget.Money > 0 && x.spent.Money >= warnShare*x.budget.Money
	tokens := x.budget.Tokens > 0 && float64(x.spent.Tokens) >= warnShare*float64(x.budget.Tokens)
	if !money && !tokens || x.warnedBudget == x.budget {
		return ""
	}
	x.warnedBudget = x.budget

	return fmt.Sprintf("most of the budget is spent: money %.2f of %.2f, tokens %d of %d",
		x.spent.Money, x.budget.Money, x.spent.Tokens, x.budget.Tokens)
}

// reserve sets aside what a call is expected to cost, until release is called after the call was counted. It returns an
// exhausted fault if the run's budget is spent, or if the call would exceed it. The first call of a user has no known
// price, so others wait until it has ended.
func (l *ledger) reserve(
	ctx context.Context, bucket store.Bucket, specification spec.Spec, of user,
) (release func(), err error) {
	for {
		if err := l.read(ctx, bucket, specification); err != nil {
			return nil, err
		}
		release, first, err := l.begin(specification.Name, of)
		if first == nil {
			return release, err
		}
		stop := While(ctx, "waits for the first call of the "+of.role)
		select {
		case <-first:
			stop()
		case <-ctx.Done():
			stop()

			return nil, context.Cause(ctx)
		}
	}
}

// begin sets aside what a call is expected to cost. If the price is unknown and the first call is under way, it returns
// the channel that is closed when that has ended.
func (l *ledger) begin(run string, of user) (release func(), first <-chan struct{}, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	x := l.spendingOf(run)
	if x.budget == (spec.Budget{}) {
		return func() {}, nil, nil
	}
	past := x.prices[of]
	if x.pricing[of] != nil && past.Calls == 0 {
		return nil, x.pricing[of], nil
	}
	expected := runs.Spent{Calls: 1}
	if past.Calls > 0 {
		expected.Money = past.Money / float64(past.Calls)
		expected.Tokens = past.Tokens / past.Calls
	}
	if err := x.exceeded(run, expected); err != nil {
		x.next = time.Time{} // a person may raise the budget at any moment

		return nil, nil, err
	}
	x.open = x.open.Plus(expected)
	identity := x.identity
	ended := make(chan struct{})
	if past.Calls == 0 {
		x.pricing[of] = ended
	}

	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if x.identity == identity { // otherwise another run has the name by now
			x.open = x.open.Plus(runs.Spent{Calls: -1, Tokens: -expected.Tokens, Money: -expected.Money})
		}
		if x.pricing[of] == ended {
			delete(x.pricing, of)
		}
		close(ended)
	}, nil, nil
}

// read reads the budget and the calls of other workers, if that was some time ago.
func (l *ledger) read(ctx context.Context, bucket store.Bucket, specification spec.Spec) error {
	l.mu.Lock()
	stale := time.Now().After(l.spendingOf(specification.Name).next)
	l.mu.Unlock()
	if stale {
		// One call reads for all callers and must not be cancelled with one of them.
		read := l.reads.DoChan(specification.Name, func() (any, error) {
			return nil, l.refresh(context.WithoutCancel(ctx), bucket, specification)
		})
		select {
		case result := <-read:
			return result.Err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}

	return nil
}

// identity returns the identity of a run that has been checked.
func (l *ledger) identity(run string) string {
	l.mu.Lock()
	defer l.mu.Unlock()

	return l.spendingOf(run).identity
}

// spendingOf returns the spending of a run. Callers hold mu.
func (l *ledger) spendingOf(run string) *spending {
	if l.runs == nil {
		l.runs = map[string]*spending{}
	}
	x := l.runs[run]
	if x == nil {
		x = newSpending("")
		l.runs[run] = x
	}

	return x
}

// refresh reads the budget and, if it is limited, the calls that were recorded since the last reading.
func (l *ledger) refresh(ctx context.Context, bucket store.Bucket, s spec.Spec) error {
	run := runs.Run(s.Name)
	began := time.Now()
	budget, err := run.Budget(ctx, bucket, s)
	if err != nil {
		return err
	}
	_, identity, err := run.Identify(ctx, bucket)
	if err != nil {
		return err
	}
	l.mu.Lock()
	x := l.spendingOf(s.Name)
	if x.identity != identity {
		*x = *newSpending(identity)
	}
	x.budget = budget
	l.mu.Unlock()

	if budget != (spec.Budget{}) {
		seen := func(key string) bool {
			l.mu.Lock()
			defer l.mu.Unlock()

			return l.spendingOf(s.Name).counted[key]
		}
		if err := run.Calls(ctx, bucket, seen, func(key string, a runs.Answer) { l.add(s.Name, key, a) }); err != nil {
			return err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spendingOf(s.Name).next = time.Now().Add(max(ledgerEvery, ledgerShare*time.Since(began)))

	return nil
}

// newSpending returns the spending of a run that has made no calls.
func newSpending(identity string) *spending {
	return &spending{
		identity: identity, counted: map[string]bool{}, prices: map[user]runs.Spent{},
		pricing: map[user]chan struct{}{},
	}
}

// exceeded returns an exhausted fault if the budget is spent, or would be exceeded by a call beside those under way. It
// names the commands that continue the run.
func (x *spending) exceeded(run string, next runs.Spent) error {
	const rounding = 1 + 1e-9
	money := x.spent.Money + x.open.Money + next.Money
	tokens := x.spent.Tokens + x.open.Tokens + next.Tokens
	switch {
	case x.budget.Money > 0 && (x.spent.Money >= x.budget.Money || money > x.budget.Money*rounding):
		return fault.New(fault.Exhausted,
			"budget.money of %.2f is spent: %.2f for %d recorded calls, and one more would make it about %.2f; "+
				"raise it with `collabui set %s budget.money=%.2f`, then `collabui resume %s`",
			x.budget.Money, x.spent.Money, x.spent.Calls, money, run, 2*max(x.budget.Money, money), run)
	case x.budget.Tokens > 0 && (x.spent.Tokens >= x.budget.Tokens || tokens > x.budget.Tokens):
		return fault.New(fault.Exhausted,
			"budget.tokens of %d is spent: %d by %d recorded calls, and one more would make it about %d; "+
				"raise it with `collabui set %s budget.tokens=%d`, then `collabui resume %s`",
			x.budget.Tokens, x.spent.Tokens, x.spent.Calls, tokens, run, 2*max(x.budget.Tokens, tokens), run)
	}

	return nil
}

func (x *spending) add(key string, answer runs.Answer) {
	if !x.counted[key] {
		x.counted[key] = true
		x.spent.Add(answer)
		of := user{answer.Role, answer.Endpoint}
		price := x.prices[of]
		price.Add(answer)
		x.prices[of] = price
	}
}

// add counts a call of this worker immediately. Calls of other workers are read from time to time.
func (l *ledger) add(run, key string, answer runs.Answer) {
	l.mu.Lock()
	defer l.mu.Unlock()

	if x := l.runs[run]; x != nil && x.budget != (spec.Budget{}) {
		x.add(key, answer)
	}
}
