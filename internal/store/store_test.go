package store

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/collabui/collabui/fault"
)

// AcceptanceTest is what every Bucket must do; the integration tests run it against the S3 server.
func AcceptanceTest(t *testing.T, b Bucket, prefix string) {
	ctx := t.Context()
	if _, err := b.Get(ctx, prefix+"none"); !errors.Is(err, ErrNotFound) {
		t.Fatalf("Get of nothing: %v", err)
	}
	var won atomic.Int32
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			ok, err := b.PutOnce(ctx, prefix+"race", []byte(fmt.Sprint(i)))
			if err != nil {
				t.Error(err)
			}
			if ok {
				won.Add(1)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 {
		t.Fatalf("%d of 20 writers won", won.Load())
	}
	for i := range 3 {
		if _, err := b.PutOnce(ctx, prefix+fmt.Sprintf("list/%d", i), []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	l, err := b.List(ctx, prefix+"list/")
	if err != nil || len(l) != 3 || l[0].Key != prefix+"list/0" || l[2].Size != 1 {
		t.Fatalf("%v, %v", l, err)
	}
}

func TestMemoryIsABucket(t *testing.T) { AcceptanceTest(t, &Memory{}, "p/") }

func TestRecordOnceGivesEveryCallerTheFirstValue(t *testing.T) {
	b := &Memory{}
	var calls atomic.Int32
	got := make([]int, 16)
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() {
			v, ref, err := RecordOnce(t.Context(), b, "k.json", func() (int, error) { calls.Add(1); return i, nil })
			if err != nil || ref.Key != "k.json" || ref.SHA256 == "" {
				t.Error(ref, err)
			}
			got[i] = v
		})
	}
	wg.Wait()
	for _, v := range got {
		if v != got[0] {
			t.Fatalf("callers differ: %v", got)
		}
	}
	n := calls.Load()
	if _, _, err := RecordOnce(t.Context(), b, "k.json", func() (int, error) { calls.Add(1); return 99, nil }); err != nil || calls.Load() != n {
		t.Fatal("a recorded value was made again", err)
	}
	if _, _, err := RecordOnce(t.Context(), b, "fail.json", func() (int, error) { return 0, errors.New("no") }); err == nil {
		t.Fatal("error lost")
	}
	if _, err := b.Get(t.Context(), "fail.json"); !errors.Is(err, ErrNotFound) {
		t.Fatal("a failed call was recorded")
	}
}

func TestEveryFlippedBitOfAManifestIsCorrupt(t *testing.T) {
	raw, err := Seal(map[string]any{"a": 1, "text": "x <y> ü"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Unseal("k", raw); err != nil {
		t.Fatal(err)
	}
	for i := range raw {
		for bit := range 8 {
			bad := append([]byte(nil), raw...)
			bad[i] ^= 1 << bit
			if _, err := Unseal("k", bad); fault.KindOf(err) != fault.Corrupt {
				t.Fatalf("byte %d bit %d of %s: %v", i, bit, raw, err)
			}
		}
	}
}
