package endpoints_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/policy/endpoints"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

func TestASpentBudgetIsAnExhaustedFaultThatNamesTheCommands(t *testing.T) {
	for name, c := range map[string]struct {
		budget spec.Budget
		calls  int // number of calls until the budget is spent
		set    string
	}{
		"budget.tokens": {spec.Budget{Tokens: 300}, 2, "collabui set r budget.tokens=900"},
		"budget.money":  {spec.Budget{Money: 500}, 2, "collabui set r budget.money=1200.00"},
	} {
		t.Run(name, func(t *testing.T) {
			b, srv, s := &store.Memory{}, &server{}, run()
			s.Budget = c.budget
			m := model(t, connect(b, srv), s)
			ask := func(n int) error {
				_, err := m.Complete(t.Context(), chat.Request{User: "u", Seed: uint64(n)})
				return err
			}
			for n := range c.calls {
				if err := ask(n); err != nil {
					t.Fatal(err)
				}
			}

			err := ask(c.calls)
			if err == nil || fault.KindOf(err) != fault.Exhausted {
				t.Fatalf("Complete = %v, want a fault of kind %s", err, fault.Exhausted)
			}
			for _, want := range []string{name, "`" + c.set + "`", "`collabui resume r`"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the fault says %q, want it to say %q", err, want)
				}
			}
			if len(srv.requests) != c.calls {
				t.Errorf("the server was asked %d times, want %d", len(srv.requests), c.calls)
			}
			if err := ask(0); err != nil {
				t.Errorf("a recorded call fails with %v, want its answer", err)
			}

			raise(t, b, spec.Budget{Tokens: 10000, Money: 10000})
			if err := ask(c.calls); err != nil {
				t.Errorf("a call within the raised budget fails with %v, want an answer", err)
			}
		})
	}
}

// slowServer is a chat endpoint whose answers take a second, and whose first answers fail.
type slowServer struct {
	fails atomic.Int64
	calls atomic.Int64
}

func (s *slowServer) Complete(context.Context, chat.Request) (chat.Response, error) {
	time.Sleep(time.Second)
	if s.fails.Add(-1) >= 0 {
		return chat.Response{}, fault.New(fault.Invalid, "not now")
	}
	s.calls.Add(1)

	return chat.Response{Texts: []string{"yes"}, Usage: domain.Usage{Prompt: 100, Answer: 50}}, nil
}

// TestCallsAtOnceStayWithinTheBudget makes many calls at once: at first none has a price, so one goes alone.
func TestCallsAtOnceStayWithinTheBudget(t *testing.T) {
	for name, budget := range map[string]spec.Budget{"money": {Money: 1000}, "tokens": {Tokens: 750}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := run()
				s.Budget = budget
				b := &store.Memory{}
				slow := &slowServer{}
				slow.fails.Store(2)
				e := &endpoints.Endpoints{
					Bucket: b, Connect: func(spec.Model) (chat.Model, error) { return slow, nil },
				}
				m := model(t, e, s)
				refused := make(chan error, 40)
				for n := range cap(refused) {
					go func() {
						_, err := m.Complete(t.Context(), chat.Request{User: "u", Seed: uint64(n)})
						refused <- err
					}()
				}
				exhausted := 0
				for range cap(refused) {
					if fault.KindOf(<-refused) == fault.Exhausted {
						exhausted++
					}
				}
				if n := slow.calls.Load(); n != 5 || exhausted != cap(refused)-2-5 {
					t.Errorf("%d calls were paid for and %d refused, want 5, which the budget allows, and %d", n,
						exhausted, cap(refused)-2-5)
				}
			})
		})
	}
}

func TestPeopleAreToldOnceWhenABudgetIsNearlySpent(t *testing.T) {
	b, srv, s := &store.Memory{}, &server{}, run()
	s.Budget.Tokens = 1500
	e := connect(b, srv)
	var told []string
	e.Warn = func(run, text string) { told = append(told, run+": "+text) }
	m := model(t, e, s)
	spend := func() {
		for n := range 1000 {
			_, err := m.Complete(t.Context(), chat.Request{User: "u", Seed: uint64(1000*len(told) + n)})
			if fault.KindOf(err) == fault.Exhausted {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	spend()
	if len(told) != 1 || !strings.HasPrefix(told[0], "r: most of the budget is spent") {
		t.Errorf("people were told %q, want it once", told)
	}
	raise(t, b, spec.Budget{Tokens: 3000})
	spend()
	if len(told) != 2 || !strings.Contains(told[1], "of 3000") {
		t.Errorf("people were told %q, want it once more of the raised budget", told)
	}
}

// raise records a change of the budget.
func raise(t *testing.T, b store.Bucket, budget spec.Budget) {
	t.Helper()
	change := runs.Change{Who: "ann", Why: "one more", Verb: runs.VerbSet, Values: spec.Values{
		"budget.tokens": fmt.Append(nil, budget.Tokens), "budget.money": fmt.Append(nil, budget.Money),
	}}
	_, _, err := runs.Run("r").Change(1).Record(t.Context(), b, func() (runs.Change, error) { return change, nil })
	if err != nil {
		t.Fatal(err)
	}
}

func TestCallsOfOtherWorkersCountTowardsTheBudget(t *testing.T) {
	b, srv, s := &store.Memory{}, &server{}, run()
	s.Budget.Tokens = 150
	if _, err := model(t, connect(b, srv), s).Complete(t.Context(), chat.Request{User: "u"}); err != nil {
		t.Fatal(err)
	}

	_, err := model(t, connect(b, srv), s).Complete(t.Context(), chat.Request{User: "v"})
	if fault.KindOf(err) != fault.Exhausted {
		t.Errorf("Complete of another worker = %v, want a fault of kind %s", err, fault.Exhausted)
	}
}

// TestARunOwesNothingForAnotherOneOfItsName deletes a run whose budget is spent, and creates another one with its name.
func TestARunOwesNothingForAnotherOneOfItsName(t *testing.T) {
	for name, change := range map[string]func(*spec.Spec){
		"of another specification": func(s *spec.Spec) { s.Seed++ },
		"of the same file":         func(*spec.Spec) {},
	} {
		t.Run(name, func(t *testing.T) {
			b, srv, s := &store.Memory{}, &server{}, run()
			s.Budget.Tokens = 150
			record := func(began time.Time) {
				beginRun(t, b, s)
				made := func() (runs.Made, error) { return runs.Made{Began: began}, nil }
				if _, _, err := runs.Run("r").Made(0).Record(t.Context(), b, made); err != nil {
					t.Fatal(err)
				}
			}
			e := connect(b, srv)
			ask := func(user string) error {
				_, err := model(t, e, s).Complete(t.Context(), chat.Request{User: user})
				return err
			}
			record(time.Unix(1, 0))
			if err := errors.Join(ask("u"), ask("u")); err != nil {
				t.Fatal(err)
			}
			if err := ask("v"); fault.KindOf(err) != fault.Exhausted {
				t.Errorf("Complete = %v, want a fault of kind %s", err, fault.Exhausted)
			}

			all, err := b.List(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range all {
				b.Damage(o.Key, nil)
			}
			change(&s)
			record(time.Unix(2, 0))
			if err := ask("v"); err != nil {
				t.Errorf("Complete = %v for another run of the name, want an answer", err)
			}
		})
	}
}
