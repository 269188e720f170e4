package collect_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/collect"
	"github.com/collabui/collabui/internal/store/runs"
)

func TestWhatALineAcceptsIsKeptByEveryPolicy(t *testing.T) {
	fresh := finished(t)
	synctest.Test(t, func(t *testing.T) {
		b := fresh()
		end, _, err := runs.Run("small").End().Read(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		other := 3 - end.Best // of two epochs
		promote(t, b, other)
		strict := collect.Policy{Epochs: 1, Calls: time.Minute}
		gc(t, b, strict)
		gc(t, b, strict)
		clean(t, b)
		for epoch := 1; epoch <= 2; epoch++ {
			e, _, err := runs.Run("small").Epoch(epoch).Read(t.Context(), b)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range e.System.Policies {
				if _, err := store.GetBlob(t.Context(), b, p.Digest); err != nil {
					t.Errorf("a policy of epoch %d: %v; want it kept", epoch, err)
				}
			}
		}
	})
}

func TestOldPoliciesAreRetiredAndFsckSaysSo(t *testing.T) {
	fresh := finished(t)
	synctest.Test(t, func(t *testing.T) {
		b := fresh()
		end, _, err := runs.Run("small").End().Read(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		gc(t, b, collect.Policy{Epochs: 1})
		gc(t, b, collect.Policy{Epochs: 1})
		report := clean(t, b)
		for epoch := 1; epoch <= 2; epoch++ {
			e, _, err := runs.Run("small").Epoch(epoch).Read(t.Context(), b)
			if err != nil {
				t.Fatal(err)
			}
			_, err = store.GetBlob(t.Context(), b, e.System.Policies[0].Digest)
			kept := epoch == end.Best || epoch == 2
			if kept != (err == nil) || !kept && (!errors.Is(err, store.ErrNotFound) || report.Retired == 0) {
				t.Errorf("a policy of epoch %d: %v, and %d are retired; want it kept: %v",
					epoch, err, report.Retired, kept)
			}
		}
	})
}

func TestOldCallsAreRemovedAndWhatTheyTookIsKept(t *testing.T) {
	fresh := finished(t)
	synctest.Test(t, func(t *testing.T) {
		b := fresh()
		run := runs.Run("small")
		for _, id := range []string{"aa1", "bb2"} {
			answer := runs.Answer{Cost: 2, Usage: domain.Usage{Prompt: 10, Answer: 1}}
			if _, _, err := run.Call(id).Record(t.Context(), b, func() (runs.Answer, error) {
				return answer, nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		before, err := run.Spent(t.Context(), b)
		if err != nil || before.Calls != 2 || before.Money != 4 {
			t.Fatalf("Spent = %+v, %v; want two calls for 4", before, err)
		}
		gc(t, b, collect.Policy{Calls: 3 * grace})
		if left := list(t, b, run.CallsPrefix()); len(left) != 2 {
			t.Errorf("%v are left, want both calls, which are younger", left)
		}
		gc(t, b, collect.Policy{Calls: grace})
		if left := list(t, b, run.CallsPrefix()); len(left) > 0 {
			t.Errorf("%v are left, want no call", left)
		}
		if after, err := run.Spent(t.Context(), b); err != nil || after != before {
			t.Errorf("Spent = %+v, %v; want what the calls took, %+v", after, err, before)
		}
		clean(t, b)
	})
}
