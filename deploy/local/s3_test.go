package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

const testBucket = "collabui"

func objectStore(t *testing.T, addr string) *minio.Core {
	t.Helper()
	c, err := minio.NewCore(addr, &minio.Options{Creds: credentials.NewStaticV4(testAccess, testSecret, "")})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func putOnce(ctx context.Context, c *minio.Core, key string, body []byte) error {
	opts := minio.PutObjectOptions{}
	opts.SetMatchETagExcept("*")
	_, err := c.Client.PutObject(ctx, testBucket, key, bytes.NewReader(body), int64(len(body)), opts)
	return err
}

func read(t *testing.T, c *minio.Core, key string) []byte {
	t.Helper()
	o, err := c.Client.GetObject(t.Context(), testBucket, key, minio.GetObjectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(o)
	if err != nil {
		t.Fatalf("read %s: %v", key, err)
	}
	return body
}

func TestS3FirstWriterWinsAndDataOutlivesAKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := launch(t, "s3", "--dir", dir)
	c := objectStore(t, p.addr)

	var winner atomic.Value
	var winners atomic.Int32
	var writers sync.WaitGroup
	for i := range 20 {
		writers.Go(func() {
			body := fmt.Appendf(nil, "writer %d", i)
			switch err := putOnce(t.Context(), c, "a/b/once.json", body); {
			case err == nil:
				winners.Add(1)
				winner.Store(body)
			case minio.ToErrorResponse(err).StatusCode != http.StatusPreconditionFailed:
				t.Errorf("writer %d: %v", i, err)
			}
		})
	}
	writers.Wait()
	if winners.Load() != 1 {
		t.Fatalf("%d writers won", winners.Load())
	}

	p.kill()
	c = objectStore(t, launch(t, "s3", "--dir", dir).addr)
	if got := read(t, c, "a/b/once.json"); !bytes.Equal(got, winner.Load().([]byte)) {
		t.Fatalf("after the restart %q, want %q", got, winner.Load())
	}
	if err := putOnce(t.Context(), c, "a/b/once.json", nil); minio.ToErrorResponse(err).StatusCode != http.StatusPreconditionFailed {
		t.Fatalf("the key could be written again: %v", err)
	}
}

func TestS3StoresLargeObjectsWhole(t *testing.T) {
	t.Parallel()
	c := objectStore(t, launch(t, "s3", "--dir", t.TempDir()).addr)
	body := make([]byte, 11<<20) // three parts
	_, _ = rand.Read(body)
	opts := minio.PutObjectOptions{PartSize: 5 << 20}
	if _, err := c.Client.PutObject(t.Context(), testBucket, "large", bytes.NewReader(body), int64(len(body)), opts); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(read(t, c, "large"), body) {
		t.Fatal("other bytes came back")
	}
}

func TestS3DropsUploadsOfAKilledProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := launch(t, "s3", "--dir", dir)
	c := objectStore(t, p.addr)
	id, err := c.NewMultipartUpload(t.Context(), testBucket, "cut", minio.PutObjectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	part := make([]byte, 1<<20)
	if _, err := c.PutObjectPart(t.Context(), testBucket, "cut", id, 1, bytes.NewReader(part), int64(len(part)), minio.PutObjectPartOptions{}); err != nil {
		t.Fatal(err)
	}
	p.kill()
	c = objectStore(t, launch(t, "s3", "--dir", dir).addr)
	left, err := c.ListMultipartUploads(t.Context(), testBucket, "", "", "", "", 10)
	if err != nil || len(left.Uploads) != 0 {
		t.Fatalf("left over: %v, %v", left.Uploads, err)
	}
}
