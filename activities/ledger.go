package activities

import (
	"context"
	"sync"
	"time"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
)

// ledger knows what the runs of this worker have spent, by their recorded calls: those of all workers.
type ledger struct {
	mu   sync.Mutex
	runs map[string]*spending
}

type spending struct {
	seen   map[string]bool // keys of counted calls
	spent  runs.Spent
	budget spec.Budget
	read   time.Time
}

// ledgerEvery is how old a ledger may be: within it the workers together may go over a budget by what they ask meanwhile.
const ledgerEvery = 5 * time.Second

// check is an exhausted fault where the run's budget is spent.
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
	if time.Since(x.read) > ledgerEvery {
		var err error
		if x.budget, err = runs.Run(s.Name).Budget(ctx, b, s); err != nil {
			return err
		}
		if x.budget == (spec.Budget{}) {
			x.read = time.Now()
			return nil
		}
		if err := x.count(ctx, b, s.Name); err != nil {
			return err
		}
		x.read = time.Now()
	}
	switch {
	case x.budget.Money > 0 && x.spent.Money >= x.budget.Money:
		x.read = time.Time{} // a person may raise it at any moment
		return fault.New(fault.Exhausted, "budget.money of %.2f is spent: %.2f for %d recorded calls; raise it with `collabui set %s budget.money=%.2f`, then `collabui resume %s`",
			x.budget.Money, x.spent.Money, x.spent.Calls, s.Name, 2*x.budget.Money, s.Name)
	case x.budget.Tokens > 0 && x.spent.Tokens >= x.budget.Tokens:
		x.read = time.Time{}
		return fault.New(fault.Exhausted, "budget.tokens of %d are spent: %d by %d recorded calls; raise them with `collabui set %s budget.tokens=%d`, then `collabui resume %s`",
			x.budget.Tokens, x.spent.Tokens, x.spent.Calls, s.Name, 2*x.budget.Tokens, s.Name)
	}
	return nil
}

// count adds the calls that were recorded since.
func (x *spending) count(ctx context.Context, b store.Bucket, run string) error {
	return runs.Run(run).Calls(ctx, b, func(key string) bool { return x.seen[key] }, x.add)
}

func (x *spending) add(key string, a runs.Answer) {
	if !x.seen[key] {
		x.seen[key] = true
		x.spent.Add(a)
	}
}

// add counts a call of this worker at once; those of others are read from time to time.
func (l *ledger) add(run, key string, a runs.Answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if x := l.runs[run]; x != nil && x.budget != (spec.Budget{}) {
		x.add(key, a)
	}
}
