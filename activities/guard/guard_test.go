package guard

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// guardOf returns the guard of a worker of a namespace, and the context of what is started there for a run.
func guardOf(t *testing.T, b store.Bucket, namespace, run string) (*Guard, context.Context) {
	t.Helper()
	g := &Guard{
		Bucket: b, Where: "https://s3.example/" + namespace,
		Claim: runs.Claim{
			Namespace: namespace + "-id", Name: namespace, Address: namespace + ".example:7233", Who: "a worker",
		},
	}
	ctx, err := g.Here(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	x, _ := BelongingOf(ctx)
	x.Run = run

	return g, x.In(t.Context())
}

// refused checks that an activity is refused with words.
func refused(t *testing.T, what string, err error, kind fault.Kind, words ...string) {
	t.Helper()
	if err == nil || fault.KindOf(err) != kind {
		t.Errorf("%s: %v, want it refused, %s", what, err, kind)

		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%s: %q, want it to contain %q", what, err, word)
		}
	}
}

// TestAWorkerOfAnotherStoreRefuses gives a worker a bucket that has a copy of the run.
func TestAWorkerOfAnotherStoreRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := &store.Memory{}, &store.Memory{}
		own, ctx := guardOf(t, here, "one", "x")
		other, _ := guardOf(t, there, "two", "x")
		if err := own.admit(ctx); err != nil {
			t.Errorf("a worker of the store: %v, want no error", err)
		}
		one, err := store.Identify(ctx, here)
		if err != nil {
			t.Fatal(err)
		}
		two, err := store.Identify(ctx, there)
		if err != nil || one.ID == two.ID {
			t.Fatalf("two stores have the ids %q and %q, %v, want two ids", one.ID, two.ID, err)
		}
		err = other.admit(ctx)
		refused(t, "a worker of another store", err, fault.Throttled, one.ID, two.ID, "https://s3.example/one",
			"https://s3.example/two", "start it again")
		if left, err := there.List(ctx, runs.AllPrefix); err != nil || len(left) > 0 {
			t.Errorf("the other store has %v, %v, want nothing recorded", left, err)
		}
		if err := other.admit(t.Context()); err != nil {
			t.Errorf("what another program started: %v, want it done", err)
		}

		here.Damage("store.json", nil) // the bucket is replaced beneath the worker
		if err := own.admit(ctx); err != nil {
			t.Errorf("within the time that a worker relies on its store: %v, want no error", err)
		}
		time.Sleep(checkEvery)
		refused(t, "after the bucket was replaced", own.admit(ctx), fault.Throttled, one.ID)
	})
}

// TestTheNewestClaimDrivesARun lets two namespaces start one run, one after the other.
func TestTheNewestClaimDrivesARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &store.Memory{}
		one, ctx := guardOf(t, b, "one", "x")
		two, _ := guardOf(t, b, "two", "x")
		take := func(g *Guard) {
			t.Helper()
			c := g.Claim
			own, err := g.identify(ctx)
			if c.Store = own.ID; err == nil {
				_, err = runs.Run("x").Take(ctx, b, c)
			}
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(checkEvery)
		}
		if err := one.admit(ctx); err != nil {
			t.Errorf("the first activity of a run that nobody has claimed: %v, want it claimed", err)
		}
		refused(t, "the namespace that did not claim it", two.admit(ctx), fault.Invalid, "one.example:7233",
			"two.example:7233", "collabui train x")

		take(two)
		refused(t, "the namespace that had claimed it", one.admit(ctx), fault.Invalid, "two.example:7233")
		if err := two.admit(ctx); err != nil {
			t.Errorf("the namespace that has claimed it now: %v, want no error", err)
		}

		take(one)
		refused(t, "the second namespace, after the first took it back", two.admit(ctx), fault.Invalid)
		if err := one.admit(ctx); err != nil {
			t.Errorf("the namespace that took it back: %v, want no error", err)
		}
		if _, n, err := runs.Run("x").Claimed(ctx, b, 0); err != nil || n != 3 {
			t.Errorf("there are %d claims, %v, want 3", n, err)
		}
	})
}

// hidden is a store that does not show claims: a replica that is behind.
type hidden struct{ store.Bucket }

func (h hidden) Get(ctx context.Context, key string) ([]byte, error) {
	if strings.Contains(key, "/claims/") {
		return nil, store.ErrNotFound
	}

	return h.Bucket.Get(ctx, key)
}

// TestAStaleStoreGivesNoClaimAway: a worker that does not see the newest claims takes none back.
func TestAStaleStoreGivesNoClaimAway(t *testing.T) {
	t.Parallel()
	b := &store.Memory{}
	own, err := store.Identify(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	for _, namespace := range []string{"one-id", "two-id"} {
		c := runs.Claim{Namespace: namespace, Store: own.ID}
		if _, err := runs.Run("x").Take(t.Context(), b, c); err != nil {
			t.Fatal(err)
		}
	}
	stale, ctx := guardOf(t, hidden{b}, "one", "x")
	_ = stale.admit(ctx) // whatever it sees
	c, n, err := runs.Run("x").Claimed(ctx, b, 0)
	if err != nil || n != 2 || c.Namespace != "two-id" {
		t.Errorf("claim %d is of %s, %v, want 2 of two-id", n, c.Namespace, err)
	}
}

// TestAnotherRunOfANameIsClaimedAnew deletes a run of which a worker knows a claim.
func TestAnotherRunOfANameIsClaimedAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &store.Memory{}
		g, ctx := guardOf(t, b, "one", "x")
		for range 2 {
			if err := g.admit(ctx); err != nil {
				t.Errorf("%v, want no error", err)
			}
			b.Damage(runs.Run("x").Claim(1).Key, nil)
			time.Sleep(checkEvery)
		}
	})
}
