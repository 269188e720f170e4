package verify_test

import (
	"sync"
	"testing"

	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/test/kit/testrun"
)

// small is the name of the run of testrun.Small.
const small = "small"

var (
	played  sync.Once
	objects map[string][]byte // of a finished run
)

// finished returns a store with a finished run, which the test may damage. The run is played once for all tests.
func finished(t *testing.T) *store.Memory {
	t.Helper()
	played.Do(func() {
		r := testrun.New(t, testrun.Small())
		if _, err := r.Play(t, nil); err != nil {
			t.Fatal(err)
		}
		objects = map[string][]byte{}
		for _, o := range list(t, r.Bucket) {
			objects[o.Key] = get(t, r.Bucket, o.Key)
		}
	})
	if objects == nil {
		t.Fatal("the run of another test failed, want a finished run")
	}

	b := &store.Memory{}
	for key, raw := range objects {
		if _, err := b.PutOnce(t.Context(), key, raw); err != nil {
			t.Fatal(err)
		}
	}

	return b
}

func list(t *testing.T, b store.Bucket) []store.Ref {
	t.Helper()
	objects, err := b.List(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}

	return objects
}

func get(t *testing.T, b store.Bucket, key string) []byte {
	t.Helper()
	raw, err := b.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}

	return raw
}

// change rewrites a manifest with a valid hash: what a bug would do, not a bad disk.
func change[T any](t *testing.T, b *store.Memory, key string, f func(*T)) {
	t.Helper()
	v, _, err := store.Read[T](t.Context(), b, key)
	if err != nil {
		t.Fatal(err)
	}
	f(&v)
	raw, err := store.Seal(v)
	if err != nil {
		t.Fatal(err)
	}
	b.Damage(key, raw)
}
