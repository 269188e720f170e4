//go:build integration

package integration

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/collabui/collabui/internal/store"
)

// TestLargeFilesPassThroughS3InParts stores a file that is larger than what one request carries, as weights are.
func TestLargeFilesPassThroughS3InParts(t *testing.T) {
	t.Parallel()
	b := outsideBucket(t)
	raw := make([]byte, 40<<20)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range raw {
		raw[i] = byte(r.Uint32())
	}
	from, to := filepath.Join(t.TempDir(), "from"), filepath.Join(t.TempDir(), "to")
	if err := os.WriteFile(from, raw, 0o644); err != nil {
		t.Fatal(err)
	}

	for range 2 { // the second time it is there
		ref, err := store.PutBlobFile(t.Context(), b, from)
		if err != nil || ref.Size != int64(len(raw)) {
			t.Fatalf("PutBlobFile = %+v, %v; want a size of %d", ref, err, len(raw))
		}
		if err := store.GetBlobFile(t.Context(), b, ref.SHA256, to); err != nil {
			t.Fatal(err)
		}
	}

	got, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, raw) {
		t.Errorf("%d other bytes came back, want the %d that were stored", len(got), len(raw))
	}
	err = store.GetBlobFile(t.Context(), b, store.Sum([]byte("never stored")), to)
	if !errors.Is(err, store.ErrAbsent) {
		t.Errorf("GetBlobFile of a blob that is not stored = %v, want %v", err, store.ErrAbsent)
	}
}
