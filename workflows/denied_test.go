package workflows_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/test/kit/testrun"
)

// denying says once of every existing object with a suffix that it does not exist.
type denying struct {
	store.Bucket
	suffix string

	mu     sync.Mutex
	denied map[string]bool
}

func (f *denying) Get(ctx context.Context, key string) ([]byte, error) {
	raw, err := f.Bucket.Get(ctx, key)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil && strings.HasSuffix(key, f.suffix) && !f.denied[key] {
		f.denied[key] = true

		return nil, fmt.Errorf("%s: %w", key, store.ErrNotFound)
	}

	return raw, err
}

func TestNoPairIsLostIfTheStoreDeniesIt(t *testing.T) {
	t.Parallel()
	want := play(t, testrun.New(t, testrun.Small()))

	r := testrun.New(t, testrun.Small())
	f := &denying{Bucket: r.Bucket, suffix: "/pairs.json", denied: map[string]bool{}}
	r.Deps.Bucket = f
	if got := play(t, r); got.FinalDigest != want.FinalDigest {
		t.Errorf("the final digest is %s, want %s", got.FinalDigest, want.FinalDigest)
	}
	if len(f.denied) == 0 {
		t.Error("the store denied nothing, want it to deny pairs")
	}
}
