package verify_test

import (
	"testing"

	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/test/kit/layout"
	"github.com/collabui/collabui/test/kit/testrun"
)

func TestTheLayoutHasEveryObjectOfARun(t *testing.T) {
	t.Parallel()
	r, _ := testrun.Finished(t)
	keys, err := store.Keys(t.Context(), r.Bucket, "")
	if err != nil || len(keys) < 100 {
		t.Fatalf("the run has %d objects, %v; want more", len(keys), err)
	}
	for _, key := range keys {
		if kinds := layout.Of(key); len(kinds) != 1 {
			t.Errorf("%s is of the kinds %v, want one: add it to test/kit/layout/kinds.go", key, kinds)
		}
	}
}
