package endpoints

import (
	"context"
	"sync"
	"time"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
)

// ledger knows what runs have spent, from the recorded calls of all workers.
type ledger struct {
	mu   sync.Mutex
	runs map[string]*spending
}

// spending is what one run has spent.
type spending struct {
	seen   map[string]bool // keys of counted calls
	spent  runs.Spent
	budget spec.Budget
	next   time.Time // when it is read again
}

// A ledger is read again after ledgerEvery, or after ledgerShare times as long as the last reading took: a run of a
// million calls spends no more on its ledger than a small one. Meanwhile all workers together may exceed a budget by
// what they ask; what this worker asks is counted immediately.
const (
	ledgerEvery = 5 * time.Second
	ledgerShare = 20
)

// check returns an exhausted fault if the run's budget is spent.
func (l *ledger) check(ctx context.Context, b store.Bucket, s spec.Spec) error {
	l.mu.Lock()
	defer l.mu.Unlock()

	if l.runs == nil {
		l.runs = map[string]*spending{}
	}
	x := l.runs[s.Name]
	if x == nil {
		x = &spending{seen: map[string]bool{}}
		l.runs[s.Name] = x
	}

	if time.Now().After(x.next) {
		if err := x.refresh(ctx, b, s); err != nil {
			return err
		}
	}
	err := x.exceeded(s.Name)
	if err != nil {
		x.next = time.Time{} // a person may raise the budget at any moment
	}

	return err
}

// refresh reads the budget and, if there is one, the calls that were recorded since.
func (x *spending) refresh(ctx context.Context, b store.Bucket, s spec.Spec) error {
	run, began := runs.Run(s.Name), time.Now()
	budget, err := run.Budget(ctx, b, s)
	if err != nil {
		return err
	}

	if x.budget = budget; budget != (spec.Budget{}) {
		if err := run.Calls(ctx, b, func(key string) bool { return x.seen[key] }, x.add); err != nil {
			return err
		}
	}
	x.next = time.Now().Add(max(ledgerEvery, ledgerShare*time.Since(began)))

	return nil
}

// exceeded returns an exhausted fault if the budget is spent, with the commands that continue the run.
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

func (x *spending) add(key string, a runs.Answer) {
	if !x.seen[key] {
		x.seen[key] = true
		x.spent.Add(a)
	}
}

// add counts a call of this worker immediately; those of others are read from time to time.
func (l *ledger) add(run, key string, a runs.Answer) {
	l.mu.Lock()
	defer l.mu.Unlock()

	if x := l.runs[run]; x != nil && x.budget != (spec.Budget{}) {
		x.add(key, a)
	}
}
