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
}

// A ledger is read again after ledgerEvery, or after ledgerShare times the duration of the last reading if that is
// longer, so a run of a million calls spends no larger share of time on its ledger than a small one. Between readings,
// all workers together may exceed a budget by the calls they make. Calls of this worker count immediately.
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

// check returns an exhausted fault if the run's budget is spent.
func (l *ledger) check(ctx context.Context, bucket store.Bucket, specification spec.Spec) error {
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
			if result.Err != nil {
				return result.Err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}

	l.mu.Lock()
	defer l.mu.Unlock()
	x := l.spendingOf(specification.Name)
	err := x.exceeded(specification.Name)
	if err != nil {
		x.next = time.Time{} // a person may raise the budget at any moment
	}

	return err
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
		x = &spending{counted: map[string]bool{}}
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
		*x = spending{identity: identity, counted: map[string]bool{}}
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

// exceeded returns an exhausted fault if the budget is spent. It names the commands that continue the run.
func (x *spending) exceeded(run string) error {
	switch {
	case x.budget.Money > 0 && x.spent.Money >= x.budget.Money:
		return fault.New(fault.Exhausted,
			"budget.money of %.2f is spent: %.2f for %d recorded calls; raise it with "+
				"`collabui set %s budget.money=%.2f`, then `collabui resume %s`",
			x.budget.Money, x.spent.Money, x.spent.Calls, run, 2*x.budget.Money, run)
	case x.budget.Tokens > 0 && x.spent.Tokens >= x.budget.Tokens:
		return fault.New(fault.Exhausted,
			"budget.tokens of %d is spent: %d by %d recorded calls; raise it with `collabui set %s budget.tokens=%d`, "+
				"then `collabui resume %s`",
			x.budget.Tokens, x.spent.Tokens, x.spent.Calls, run, 2*x.budget.Tokens, run)
	}

	return nil
}

func (x *spending) add(key string, answer runs.Answer) {
	if !x.counted[key] {
		x.counted[key] = true
		x.spent.Add(answer)
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
