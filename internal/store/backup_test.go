package store_test

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/collabui/collabui/internal/store"
)

// TestAWeightOfABackupIsNotHeldInMemory copies a file there and back, first over a half-written one.
func TestAWeightOfABackupIsNotHeldInMemory(t *testing.T) {
	body := bytes.Repeat([]byte("weights "), 4<<20)
	from, to := filepath.Join(t.TempDir(), "from"), filepath.Join(t.TempDir(), "to")
	if err := os.WriteFile(from, body, 0o644); err != nil {
		t.Fatal(err)
	}
	b := store.Backup{Files: store.Files{Dir: t.TempDir()}}
	if _, err := b.PutOnce(t.Context(), store.BlobPrefix+store.Sum(body), make([]byte, len(body))); err != nil {
		t.Fatal(err)
	}
	size := uint64(len(body))

	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	ref, err := store.PutBlobFile(t.Context(), b, from)
	if err != nil {
		t.Fatalf("PutBlobFile = %v, want the damaged file replaced", err)
	}
	if err := store.GetBlobFile(t.Context(), b, ref.SHA256, to); err != nil {
		t.Errorf("GetBlobFile = %v, want success", err)
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > size/4 {
		t.Errorf("a file of %d bytes there and back took %d bytes of memory, want a part of them", size, took)
	}
}
