package store_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store"
)

// stalls returns a bucket on a server with the given handler, which gives up after 100 ms without progress.
func stalls(t *testing.T, answer http.HandlerFunc) *store.S3 {
	t.Helper()
	srv := httptest.NewServer(answer)
	t.Cleanup(srv.Close)
	b, err := store.Open(store.Config{
		Endpoint: strings.TrimPrefix(srv.URL, "http://"), Bucket: "bucket", Access: "a", Secret: "b",
		Region: "us-east-1", Stall: 100 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}

	return b
}

// part sends the headers of an object of 1,000 bytes, and its first n bytes.
func part(w http.ResponseWriter, n int) {
	w.Header().Set("Content-Length", "1000")
	w.Header().Set("Last-Modified", "Sun, 22 Nov 2026 12:00:00 GMT")
	w.Header().Set("ETag", `"e"`)
	_, _ = io.WriteString(w, strings.Repeat("x", n))
	w.(http.Flusher).Flush()
}

func TestARequestThatMakesNoProgressEnds(t *testing.T) {
	t.Parallel()
	get := func(ctx context.Context, b *store.S3) error {
		_, err := b.Get(ctx, "a")
		return err
	}
	put := func(ctx context.Context, b *store.S3) error {
		_, err := b.PutOnce(ctx, "a", []byte("x"))
		return err
	}
	list := func(ctx context.Context, b *store.S3) error {
		_, err := b.List(ctx, "a")
		return err
	}
	upload := func(ctx context.Context, b *store.S3) error {
		file := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
			return err
		}
		_, err := store.PutBlobFile(ctx, b, file)
		return err
	}
	nothing := func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // a server notices that a client leaves only after it has read the body
		<-r.Context().Done()
	}

	for name, c := range map[string]struct {
		answer http.HandlerFunc
		do     func(context.Context, *store.S3) error
		want   string
	}{
		"nothing is read":        {nothing, get, "took nothing for too long"},
		"nothing is written":     {nothing, put, "took nothing for too long"},
		"nothing is listed":      {nothing, list, "took nothing for too long"},
		"nothing is uploaded":    {nothing, upload, "took nothing for too long"},
		"a part, then no more":   {hangs, get, "took nothing for too long"},
		"a byte every 50 ms":     {trickles, get, "too slow"},
		"all, but slowly at end": {whole, get, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			err := c.do(ctx, stalls(t, c.answer))
			switch {
			case c.want == "" && err != nil:
				t.Errorf("the request = %v, want success", err)
			case c.want != "" && (fault.KindOf(err) != fault.Transient || !strings.Contains(err.Error(), c.want)):
				t.Errorf("the request = %v, want a transient fault with %q", err, c.want)
			}
			if ctx.Err() != nil {
				t.Error("the request went on for 30 s, want its end before")
			}
		})
	}
}

// TestAServerThatCopiesMayBeSilent covers a server that sends no byte until a large object is copied.
func TestAServerThatCopiesMayBeSilent(t *testing.T) {
	t.Parallel()
	b := stalls(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPut {
			whole(w, r)

			return
		}
		time.Sleep(300 * time.Millisecond) // three times as long as a request may be silent
		_, _ = io.WriteString(w, `<CopyObjectResult><ETag>"e"</ETag><LastModified>2026-11-22T12:00:00Z</LastModified>`+
			`</CopyObjectResult>`)
	})
	if err := b.Copy(t.Context(), "a", "b"); err != nil {
		t.Errorf("the copy = %v, want success", err)
	}
}

func hangs(w http.ResponseWriter, r *http.Request) {
	part(w, 500)
	<-r.Context().Done()
}

// trickles is slower than any limit, but never stops.
func trickles(w http.ResponseWriter, r *http.Request) {
	part(w, 1)
	for r.Context().Err() == nil {
		time.Sleep(50 * time.Millisecond)
		_, _ = io.WriteString(w, "x")
		w.(http.Flusher).Flush()
	}
}

// whole pauses for less than the limit.
func whole(w http.ResponseWriter, _ *http.Request) {
	part(w, 500)
	time.Sleep(50 * time.Millisecond)
	_, _ = io.WriteString(w, strings.Repeat("x", 500))
}
