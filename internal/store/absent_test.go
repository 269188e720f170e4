package store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store"
)

// late is a store that does not show one object.
type late struct {
	store.Bucket
	key string
}

func (l late) Get(ctx context.Context, key string) ([]byte, error) {
	if key == l.key {
		return nil, fmt.Errorf("%s: %w", key, store.ErrNotFound)
	}

	return l.Bucket.Get(ctx, key)
}

func TestAnObjectThatIsNotShownIsAFaultAndNotAFact(t *testing.T) {
	t.Parallel()
	ctx, m := t.Context(), &store.Memory{}
	const key = "runs/x/base.json"
	if _, _, _, err := store.WriteOnce(ctx, m, key, 1); err != nil {
		t.Fatal(err)
	}
	blob, err := store.PutBlob(ctx, m, []byte("pairs"))
	if err != nil {
		t.Fatal(err)
	}

	hidden := late{m, key}
	noBlob := late{m, blob.Key}
	faults := map[string]error{}
	_, _, faults["Must"] = store.Must[int](ctx, hidden, key)
	_, _, faults["Sure"] = store.Sure[int](ctx, hidden, key)
	_, faults["GetBlob"] = store.GetBlob(ctx, noBlob, blob.SHA256)
	faults["GetBlobFile"] = store.GetBlobFile(ctx, noBlob, blob.SHA256, t.TempDir()+"/pairs")
	for name, err := range faults {
		if !errors.Is(err, store.ErrAbsent) || errors.Is(err, store.ErrNotFound) ||
			fault.KindOf(err) != fault.Transient {
			t.Errorf("%s = %v, want a transient fault that wraps ErrAbsent only", name, err)
		}
	}
	if _, exists, err := store.May[int](ctx, hidden, key); exists || err != nil {
		t.Errorf("May = %v, %v; want that it is not shown", exists, err)
	}
	if _, exists, err := store.MayBlob(ctx, noBlob, blob.SHA256); exists || err != nil {
		t.Errorf("MayBlob = %v, %v; want that it is not shown", exists, err)
	}
}

func TestSureOfAnObject(t *testing.T) {
	t.Parallel()
	ctx, m := t.Context(), &store.Memory{}
	for _, key := range []string{"log/0001.json", "log/0001.json.old"} {
		if _, _, _, err := store.WriteOnce(ctx, m, key, 7); err != nil {
			t.Fatal(err)
		}
	}
	if v, exists, err := store.Sure[int](ctx, m, "log/0001.json"); v != 7 || !exists || err != nil {
		t.Errorf("Sure of an object = %v, %v, %v; want 7", v, exists, err)
	}
	for _, key := range []string{"log/0001", "log/0002.json"} { // the first is a prefix of others
		if _, exists, err := store.Sure[int](ctx, m, key); exists || err != nil {
			t.Errorf("Sure(%s) = %v, %v; want that it does not exist", key, exists, err)
		}
	}
}

// writing is a store in which another process writes an object just before each list.
type writing struct {
	store.Bucket
	key string
}

func (w writing) List(ctx context.Context, prefix string) ([]store.Ref, error) {
	if _, _, _, err := store.WriteOnce(ctx, w.Bucket, w.key, 7); err != nil {
		return nil, err
	}

	return w.Bucket.List(ctx, prefix)
}

func TestSureReadsAnObjectThatIsWrittenMeanwhile(t *testing.T) {
	t.Parallel()
	const key = "log/0001.json"
	v, exists, err := store.Sure[int](t.Context(), writing{&store.Memory{}, key}, key)
	if v != 7 || !exists || err != nil {
		t.Errorf("Sure = %v, %v, %v; want 7, which was written between the read and the list", v, exists, err)
	}
}
