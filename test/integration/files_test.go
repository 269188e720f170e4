//go:build integration

package integration

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/collabui/collabui/internal/care/collect"
	"github.com/collabui/collabui/internal/store"
)

// TestLargeFilesPassThroughS3InParts stores a file that is larger than one request may be, as weights are.
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

	for range 2 { // the second time it exists
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

// TestGCAbortsAnUploadThatWasCutShort begins two uploads on a real server. Parts of one of them continue to arrive.
func TestGCAbortsAnUploadThatWasCutShort(t *testing.T) {
	t.Parallel()
	endpoint := outsideS3(t, t.TempDir())
	b, err := store.Open(store.Config{Endpoint: endpoint, Bucket: s3Bucket, Access: s3Key, Secret: s3Key})
	if err != nil {
		t.Fatal(err)
	}
	c, err := minio.NewCore(endpoint, &minio.Options{Creds: credentials.NewStaticV4(s3Key, s3Key, "")})
	if err != nil {
		t.Fatal(err)
	}
	part := make([]byte, 5<<20)
	begin := func(key string) (id string, send func(n int) minio.CompletePart) {
		id, err := c.NewMultipartUpload(t.Context(), s3Bucket, key, minio.PutObjectOptions{})
		if err != nil {
			t.Fatal(err)
		}

		return id, func(n int) minio.CompletePart {
			p, err := c.PutObjectPart(t.Context(), s3Bucket, key, id, n, bytes.NewReader(part), int64(len(part)),
				minio.PutObjectPartOptions{})
			if err != nil {
				t.Fatalf("part %d of %s: %v, want it taken", n, key, err)
			}

			return minio.CompletePart{PartNumber: n, ETag: p.ETag}
		}
	}
	_, cut := begin("cut")
	cut(1)
	id, send := begin("sent")

	var sent []minio.CompletePart
	policy := collect.Policy{Grace: 3 * time.Second, Who: "a test"}
	aborted := 0
	for deadline := time.Now().Add(time.Minute); aborted == 0; {
		if time.Now().After(deadline) {
			t.Fatal("no upload was aborted within a minute, want one")
		}
		sent = append(sent, send(len(sent)+1))
		report, err := collect.Collect(t.Context(), b, policy, false, func(int, int) {})
		if err != nil {
			t.Fatal(err)
		}
		aborted = report.Uploads
	}
	left, err := b.Uploads(t.Context())
	if err != nil || aborted != 1 || len(left) != 1 || left[0].ID != id {
		t.Errorf("%d uploads were aborted, and %v, %v are left; want one aborted, and %s left", aborted, left, err, id)
	}
	_, err = c.CompleteMultipartUpload(t.Context(), s3Bucket, "sent", id, sent, minio.PutObjectOptions{})
	if err != nil {
		t.Errorf("the upload that was still sent: %v, want it to end", err)
	}
}
