package activities

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/collabui/collabui/internal/fault"
	"github.com/collabui/collabui/internal/record"
	"github.com/collabui/collabui/internal/spec"
	"github.com/collabui/collabui/internal/store"
)

// ledger knows what the runs of this worker have spent, by their recorded calls: those of all workers.
type ledger struct {
	mu   sync.Mutex
	runs map[string]*spending
}

type spending struct {
	seen   map[string]bool // keys of counted calls
	spent  Spent
	budget spec.Budget
	read   time.Time
}

// Spent is what the recorded calls of a run took.
type Spent struct {
	Calls  int     `json:"calls"`
	Tokens int     `json:"tokens"`
	Money  float64 `json:"money"`
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
		if x.budget, err = BudgetOf(ctx, b, s); err != nil {
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
	all, err := b.List(ctx, store.CallsPrefix(run))
	if err != nil {
		return err
	}
	for _, r := range all {
		if x.seen[r.Key] {
			continue
		}
		a, _, err := store.Read[record.Answer](ctx, b, r.Key)
		if err != nil {
			return err
		}
		x.add(r.Key, a)
	}
	return nil
}

func (x *spending) add(key string, a record.Answer) {
	if !x.seen[key] {
		x.seen[key] = true
		x.spent.Calls, x.spent.Tokens, x.spent.Money = x.spent.Calls+1, x.spent.Tokens+a.Usage.Prompt+a.Usage.Answer, x.spent.Money+a.Cost
	}
}

// add counts a call of this worker at once; those of others are read from time to time.
func (l *ledger) add(run, key string, a record.Answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if x := l.runs[run]; x != nil && x.budget != (spec.Budget{}) {
		x.add(key, a)
	}
}

// SpentBy counts all recorded calls of a run.
func SpentBy(ctx context.Context, b store.Bucket, run string) (Spent, error) {
	x := &spending{seen: map[string]bool{}}
	err := x.count(ctx, b, run)
	return x.spent, err
}

// BudgetOf is the run's budget as it stands: the specification's, or that of the newest change.
func BudgetOf(ctx context.Context, b store.Bucket, s spec.Spec) (spec.Budget, error) {
	out := s.Budget
	for n := 1; ; n++ {
		c, _, err := store.Read[record.Change](ctx, b, store.ChangeKey(s.Name, n))
		if errors.Is(err, store.ErrNotFound) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		out = c.Budget
	}
}
