package verify_test

import (
	"testing"

	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/test/kit/testrun"
)

// small is the name of the run of testrun.Small.
const small = "small"

// finished returns a store with a finished run, which the test may damage. The run is played once for all tests.
func finished(t *testing.T) *store.Memory {
	t.Helper()
	r, _ := testrun.Finished(t)

	return r.Bucket
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

// change rewrites a manifest with a valid hash, as a bug would, unlike a bad disk.
func change[T any](t *testing.T, b *store.Memory, key string, f func(*T)) {
	t.Helper()
	v, _, err := store.Must[T](t.Context(), b, key)
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
