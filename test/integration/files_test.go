//go:build integration

package integration

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/collabui/collabui/internal/store"
)

// TestLargeFilesPassThroughS3InParts: weights are larger than what is sent at once.
func TestLargeFilesPassThroughS3InParts(t *testing.T) {
	const key = "1234567890abcdef"
	m := newMachine(t)
	addr := m.outside([]string{"COLLABUI_S3_ACCESS_KEY=" + key, "COLLABUI_S3_SECRET_KEY=" + key}, "collabui-local", "s3", "--dir", t.TempDir(), "--bucket", "collabui")
	b, err := store.Open(store.Config{Endpoint: addr, Bucket: "collabui", Access: key, Secret: key})
	if err != nil {
		t.Fatal(err)
	}
	raw := make([]byte, 40<<20)
	for i, r := 0, rand.New(rand.NewPCG(1, 2)); i < len(raw); i++ {
		raw[i] = byte(r.Uint32())
	}
	from, to := filepath.Join(t.TempDir(), "from"), filepath.Join(t.TempDir(), "to")
	if err := os.WriteFile(from, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time it is there
		ref, err := store.PutBlobFile(t.Context(), b, from)
		if err != nil || ref.Size != int64(len(raw)) {
			t.Fatal(ref, err)
		}
		if err := store.GetBlobFile(t.Context(), b, ref.SHA256, to); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(to); err != nil || !bytes.Equal(got, raw) {
		t.Error("other bytes came back", err)
	}
	if err := store.GetBlobFile(t.Context(), b, store.Sum([]byte("never stored")), to); err == nil {
		t.Error("a blob that is not there was read")
	}
}
