package collect_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/collabui/collabui/internal/care/collect"
	"github.com/collabui/collabui/internal/care/verify"
	"github.com/collabui/collabui/internal/records/runs"
)

// TestAStoreThatWasSetBackIsCollected covers a store that no longer has objects that the record of the previous
// collection names. The collection reads them twice, and continues.
func TestAStoreThatWasSetBackIsCollected(t *testing.T) {
	fresh := finished(t)
	synctest.Test(t, func(t *testing.T) {
		b, small := fresh(), runs.Run("small")
		gc(t, b, collect.Policy{})
		for _, o := range list(t, b, small.Prefix()) {
			later := strings.Contains(o.Key, "/epochs/0002/") || strings.Contains(o.Key, "/epoch-0002/")
			if later || o.Key == small.End().Key || o.Key == small.Final().Key {
				b.Damage(o.Key, nil)
			}
		}
		before := clone(t, b)
		for range 4 {
			gc(t, b, collect.Policy{})
		}
		for _, o := range list(t, before, small.Prefix()) {
			if _, err := b.Get(t.Context(), o.Key); err != nil {
				t.Errorf("%s: %v, want it kept", o.Key, err)
			}
		}
		clean(t, b)
		if problems, err := verify.Run(t.Context(), b, "small"); err != nil || len(problems) > 0 {
			t.Errorf("the validators found %v, %v; want no problems", problems, err)
		}
	})
}
