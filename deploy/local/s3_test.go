package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"slices"
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
		t.Fatalf("read %s: got %v, want no error", key, err)
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
				t.Errorf("writer %d: got %v, want status %d", i, err, http.StatusPreconditionFailed)
			}
		})
	}

	writers.Wait()
	if got := winners.Load(); got != 1 {
		t.Fatalf("%d writers won, want 1", got)
	}

	p.kill()
	c = objectStore(t, launch(t, "s3", "--dir", dir).addr)
	if got := read(t, c, "a/b/once.json"); !bytes.Equal(got, winner.Load().([]byte)) {
		t.Fatalf("after the restart %q, want %q", got, winner.Load())
	}

	err := putOnce(t.Context(), c, "a/b/once.json", nil)
	if got := minio.ToErrorResponse(err).StatusCode; got != http.StatusPreconditionFailed {
		t.Fatalf("a second write has status %d, want %d: %v", got, http.StatusPreconditionFailed, err)
	}
}

func TestS3StoresLargeObjectsWhole(t *testing.T) {
	t.Parallel()

	c := objectStore(t, launch(t, "s3", "--dir", t.TempDir()).addr)
	body := make([]byte, 11<<20) // it has three parts
	_, _ = rand.Read(body)
	opts := minio.PutObjectOptions{PartSize: 5 << 20}
	_, err := c.Client.PutObject(t.Context(), testBucket, "large", bytes.NewReader(body), int64(len(body)), opts)
	if err != nil {
		t.Fatal(err)
	}

	if got := read(t, c, "large"); !bytes.Equal(got, body) {
		t.Fatalf("%d other bytes came back, want the %d that were written", len(got), len(body))
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
	_, err = c.PutObjectPart(t.Context(), testBucket, "cut", id, 1,
		bytes.NewReader(part), int64(len(part)), minio.PutObjectPartOptions{})
	if err != nil {
		t.Fatal(err)
	}

	p.kill()
	c = objectStore(t, launch(t, "s3", "--dir", dir).addr)
	left, err := c.ListMultipartUploads(t.Context(), testBucket, "", "", "", "", 10)
	if err != nil {
		t.Fatal(err)
	}

	if len(left.Uploads) != 0 {
		t.Fatalf("after the restart there are the uploads %v, want none", left.Uploads)
	}
}

// TestS3ListsFoldersPageByPage lists folders whose names sort differently with and without their slashes.
func TestS3ListsFoldersPageByPage(t *testing.T) {
	t.Parallel()

	p := launch(t, "s3", "--dir", t.TempDir())
	c := objectStore(t, p.addr)
	var want []string
	for _, name := range []string{"a", "a-b", "a.b", "a0", "ab", "b"} {
		want = append(want, "runs/"+name+"/")
		for _, below := range []string{"spec.json", "epochs/0001/epoch.json"} {
			if err := putOnce(t.Context(), c, "runs/"+name+"/"+below, []byte("{}")); err != nil {
				t.Fatal(err)
			}
		}
	}
	var got []string
	opts := minio.ListObjectsOptions{Prefix: "runs/", MaxKeys: 2}
	for o := range c.Client.ListObjects(t.Context(), testBucket, opts) {
		if o.Err != nil {
			t.Fatal(o.Err)
		}
		got = append(got, o.Key)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the folders are %q, want %q", got, want)
	}
}
