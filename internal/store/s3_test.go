package store_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store"
)

const noSuchKey = `<?xml version="1.0" encoding="UTF-8"?><Error><Code>NoSuchKey</Code><Key>a</Key></Error>`

// answering returns a bucket on a server with the given handler.
func answering(t *testing.T, answer http.HandlerFunc) *store.S3 {
	t.Helper()
	srv := httptest.NewServer(answer)
	t.Cleanup(srv.Close)
	b, err := store.Open(store.Config{
		Endpoint: strings.TrimPrefix(srv.URL, "http://"), Bucket: "bucket", Access: "a", Secret: "b",
		Region: "us-east-1",
	})
	if err != nil {
		t.Fatal(err)
	}

	return b
}

// TestOnlyAnS3ServerSaysThatAnObjectDoesNotExist covers a 404 from a program in between, such as a proxy, which shows
// nothing about the object.
func TestOnlyAnS3ServerSaysThatAnObjectDoesNotExist(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body  string
		found bool // whether the response shows that there is no object
	}{
		"an S3 error document": {noSuchKey, true},
		"no body":              {"", false},
		"a page of a proxy":    {"<html><body>404 page not found</body></html>", false},
		"JSON":                 {`{"error":"no route"}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := answering(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusNotFound)
				_, _ = io.WriteString(w, c.body)
			})
			_, err := b.Get(t.Context(), "a")
			if got := errors.Is(err, store.ErrNotFound); got != c.found {
				t.Errorf("Get() = %v, ErrNotFound is %v, want %v", err, got, c.found)
			}
			if !c.found && fault.KindOf(err) != fault.Transient {
				t.Errorf("Get() = %v, want a transient fault", err)
			}
		})
	}
}

// TestAConflictIsTriedAgain covers a conflict, which means that another write is under way, not that the object exists.
func TestAConflictIsTriedAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		conflicts int32
		created   bool
		ok        bool
	}{
		"it passes": {2, true, true},
		"it stays":  {1000, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var puts atomic.Int32
			b := answering(t, func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodPut || puts.Add(1) > c.conflicts {
					return
				}
				w.WriteHeader(http.StatusConflict)
				_, _ = io.WriteString(w, `<Error><Code>ConditionalRequestConflict</Code></Error>`)
			})
			created, err := b.PutOnce(t.Context(), "a", []byte("x"))
			if created != c.created || (err == nil) != c.ok {
				t.Errorf("PutOnce() = %v, %v, want %v and success: %v", created, err, c.created, c.ok)
			}
			if err != nil && fault.KindOf(err) != fault.Transient {
				t.Errorf("PutOnce() = %v, want a transient fault", err)
			}
		})
	}
}

func TestAnObjectThatIsSaidToExistIsLookedFor(t *testing.T) {
	t.Parallel()
	for name, there := range map[string]bool{"it exists": true, "it does not": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := answering(t, func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.Method == http.MethodPut:
					w.WriteHeader(http.StatusPreconditionFailed)
				case there:
					w.Header().Set("Last-Modified", "Sun, 22 Nov 2026 12:00:00 GMT")
				default:
					w.WriteHeader(http.StatusNotFound)
				}
			})
			created, err := b.PutOnce(t.Context(), "a", []byte("x"))
			if created || (err == nil) != there {
				t.Errorf("PutOnce() = %v, %v, want false and success: %v", created, err, there)
			}
		})
	}
}

// TestACopyThatIsSaidToBeThereIsLookedFor matters because a copy by gc may be the last one of an object.
func TestACopyThatIsSaidToBeThereIsLookedFor(t *testing.T) {
	t.Parallel()
	const done = `<CopyObjectResult><ETag>"1"</ETag></CopyObjectResult>`
	for name, c := range map[string]struct {
		copied string // the size of the copy; if empty, it does not exist
		ok     bool
	}{
		"it is there": {"7", true},
		"half of it":  {"3", false},
		"it is not":   {"", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := answering(t, func(w http.ResponseWriter, r *http.Request) {
				size := c.copied
				switch {
				case r.Method == http.MethodPut:
					_, _ = io.WriteString(w, done)
					return
				case strings.HasSuffix(r.URL.Path, "/from"):
					size = "7"
				case size == "":
					w.WriteHeader(http.StatusNotFound)
					return
				}
				w.Header().Set("Last-Modified", "Sun, 22 Nov 2026 12:00:00 GMT")
				w.Header().Set("Content-Length", size)
			})
			err := b.Copy(t.Context(), "from", "to")
			if (err == nil) != c.ok || err != nil && fault.KindOf(err) != fault.Transient {
				t.Errorf("Copy() = %v, want success: %v, and a transient fault otherwise", err, c.ok)
			}
		})
	}
}

// TestABlobWhoseWriteFailedIsWrittenAgainWhateverReadersSee makes a server keep half of a blob and fail, while a
// replica that is behind answers reads: it has the whole blob, from before it was collected.
func TestABlobWhoseWriteFailedIsWrittenAgainWhateverReadersSee(t *testing.T) {
	t.Parallel()
	whole := "weights"
	var mu sync.Mutex
	kept := ""
	b := answering(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.Method != http.MethodPut {
			w.Header().Set("Last-Modified", "Thu, 01 Jan 1970 00:00:00 GMT")
			_, _ = io.WriteString(w, whole)

			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		switch {
		case kept == "":
			kept = whole[:3]
			w.WriteHeader(http.StatusInternalServerError)
		case r.Header.Get("If-None-Match") != "":
			w.WriteHeader(http.StatusPreconditionFailed)
		default:
			kept = whole
		}
	})
	if _, err := store.PutBlob(t.Context(), b, []byte(whole)); err != nil {
		t.Fatalf("PutBlob() = %v, want nil", err)
	}
	mu.Lock()
	defer mu.Unlock()
	if kept != whole {
		t.Errorf("the server has %q, want %q: nobody else writes the rest", kept, whole)
	}
}

// TestAFileThatWasSentByHalfIsSentAgain covers a server with a blob of the right size and other bytes.
func TestAFileThatWasSentByHalfIsSentAgain(t *testing.T) {
	t.Parallel()
	has := []byte("weighty")
	var mu sync.Mutex
	b := answering(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		w.Header().Set("ETag", `"e"`)
		w.Header().Set("Last-Modified", time.Now().UTC().Format(http.TimeFormat))
		if r.Method == http.MethodPut {
			has = []byte("weights")

			return
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(has)))
		if r.Method == http.MethodGet {
			_, _ = w.Write(has)
		}
	})
	file := filepath.Join(t.TempDir(), "weights")
	if err := os.WriteFile(file, []byte("weights"), 0o600); err != nil {
		t.Fatal(err)
	}
	var done []string
	b.Observe(func(_ context.Context, operation string, _ time.Time, _ error) { done = append(done, operation) })
	if _, err := store.PutBlobFile(t.Context(), b, file); err != nil || string(has) != "weights" {
		t.Errorf("PutBlobFile() = %v and the server has %q, want it to have the file", err, has)
	}
	if want := []string{"put", "get", "put", "get"}; !slices.Equal(done, want) {
		t.Errorf("the observer was told of %q, want %q", done, want)
	}
}

// TestFoldersAreListedWithoutTheirObjects answers in two pages, in the order of names with their slashes.
func TestFoldersAreListedWithoutTheirObjects(t *testing.T) {
	t.Parallel()
	const page = `<ListBucketResult><IsTruncated>%t</IsTruncated><NextContinuationToken>%s</NextContinuationToken>
		<Contents><Key>runs/odd.json</Key><Size>1</Size></Contents>%s</ListBucketResult>`
	folder := func(names ...string) (out string) {
		for _, name := range names {
			out += "<CommonPrefixes><Prefix>runs/" + name + "/</Prefix></CommonPrefixes>"
		}

		return out
	}
	requests := 0
	b := answering(t, func(w http.ResponseWriter, r *http.Request) {
		requests++
		q := r.URL.Query()
		if q.Get("delimiter") != "/" || q.Get("prefix") != "runs/" {
			t.Errorf("the request is %v, want the folders under runs/", q)
		}
		if q.Get("continuation-token") == "" {
			_, _ = fmt.Fprintf(w, page, true, "next", folder("a-b", "a"))

			return
		}
		_, _ = fmt.Fprintf(w, page, false, "", folder("ab"))
	})
	got, err := b.Folders(t.Context(), "runs/")
	if want := []string{"a", "a-b", "ab"}; err != nil || !slices.Equal(got, want) || requests != 2 {
		t.Errorf("Folders() = %q, %v after %d requests, want %q after 2", got, err, requests, want)
	}
}
