package collect_test

import (
	"testing"
	"time"

	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/collect"
	"github.com/collabui/collabui/internal/store/fork"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/test/kit/testrun"
	"github.com/collabui/collabui/workers/catalog"
)

// TestRetentionKeepsThePoliciesWithWhichAForkBegins: an old epoch of a run that has ended is the newest one of a fork.
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
	for range 2 { // the first one puts garbage into the trash, the second one frees it
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
