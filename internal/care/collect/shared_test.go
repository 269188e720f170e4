package collect_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/care/collect"
	"github.com/collabui/collabui/internal/care/fork"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/test/kit/testrun"
	"github.com/collabui/collabui/workers/catalog"
)

// TestRetentionKeepsThePoliciesWithWhichAForkBegins covers an old epoch of an ended run that is the newest epoch of a
// fork.
func TestRetentionKeepsThePoliciesWithWhichAForkBegins(t *testing.T) {
	t.Parallel()
	r, end := testrun.Finished(t)
	small := runs.Run("small")
	end.Best = 2
	raw, err := store.Seal(end)
	if err != nil {
		t.Fatal(err)
	}
	r.Bucket.Damage(small.End().Key, raw)
	f, err := fork.Plan(t.Context(), r.Bucket, fork.Request{
		Run: small, Name: "other", Epoch: 1, Who: "ann", At: time.Now(), Typed: map[string]string{"slots": "11"},
	}, spec.Source{}, catalog.All{})
	if err == nil {
		err = f.Make(t.Context(), r.Bucket, func(int) {})
	}
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the first collection puts garbage into the trash, the second one frees it
		gc := collect.Policy{Grace: time.Nanosecond, Epochs: 1}
		if _, err := collect.Collect(t.Context(), r.Bucket, gc, false, func(int, int) {}); err != nil {
			t.Fatal(err)
		}
	}
	system, err := runs.Run("other").Standing(t.Context(), r.Bucket, 1, r.Spec.Agents)
	if err != nil {
		t.Fatal(err)
	}
	for agent, digest := range system.Digests() {
		if _, err := store.GetBlob(t.Context(), r.Bucket, digest); err != nil {
			t.Errorf("the policy of agent %d with which the fork begins: %v, want it kept", agent, err)
		}
	}
}

// relapsed is a store that shows a specification in the LIST of everything, and later neither to a read nor in a LIST.
type relapsed struct {
	*store.Memory
	key string
}

func (r relapsed) Get(ctx context.Context, key string) ([]byte, error) {
	if key == r.key {
		return nil, fmt.Errorf("%s: %w", key, store.ErrNotFound)
	}

	return r.Memory.Get(ctx, key)
}

func (r relapsed) List(ctx context.Context, prefix string) ([]store.Ref, error) {
	if prefix == r.key {
		return nil, nil
	}

	return r.Memory.List(ctx, prefix)
}

func TestASpecificationThatDisappearsStopsACollection(t *testing.T) {
	fresh := finished(t)
	synctest.Test(t, func(t *testing.T) {
		b := fresh()
		time.Sleep(2 * grace)
		before := len(list(t, b, "runs/")) + len(list(t, b, "blobs/"))
		p := collect.Policy{Grace: grace, Who: "a test"}
		_, err := collect.Collect(t.Context(), relapsed{b, runs.Run("small").Spec().Key}, p, false, func(int, int) {})
		if err == nil || fault.KindOf(err) != fault.Transient || errors.Is(err, store.ErrNotFound) {
			t.Errorf("Collect = %v, want a transient fault: it is not the run that is missing", err)
		}
		if left := len(list(t, b, "runs/")) + len(list(t, b, "blobs/")); left < before {
			t.Errorf("%d objects are left of %d, want all", left, before)
		}
	})
}
