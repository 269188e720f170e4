package store_test

import (
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/collabui/collabui/internal/store"
)

// faulty is an S3 server in memory with one fault. It is also the transport of its client.
type faulty struct {
	fault func(w http.ResponseWriter, r *http.Request) bool // handles a request instead, if it returns true; may be nil
	skew  time.Duration                                     // of its clock
	deaf  bool                                              // ignores If-None-Match
	keeps bool                                              // keeps deleted objects
	lossy bool                                              // copies and joins lose bytes

	mu      sync.Mutex
	objects map[string][]byte
	parts   map[string][]byte // of uploads that have not ended
}

// open returns the bucket of the server.
func (f *faulty) open(t *testing.T) *store.S3 {
	t.Helper()
	f.objects, f.parts = map[string][]byte{}, map[string][]byte{}
	b, err := store.Open(store.Config{
		Endpoint: "s3.test", Bucket: "bucket", Region: "us-east-1", Access: "a", Secret: "b", TLS: true, Transport: f,
	})
	if err != nil {
		t.Fatal(err)
	}

	return b
}

func (f *faulty) RoundTrip(req *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fault == nil || !f.fault(w, req) {
		f.serve(w, req)
	}
	res := w.Result()
	res.Request = req

	return res, nil
}

func (f *faulty) serve(w http.ResponseWriter, r *http.Request) {
	key, query := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/bucket"), "/"), r.URL.Query()
	w.Header().Set("Last-Modified", time.Now().Add(f.skew).UTC().Format(http.TimeFormat))
	w.Header().Set("ETag", `"e"`)
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
	}
	switch {
	case r.Method == http.MethodPost && query.Has("uploads"):
		answerXML(w, http.StatusOK, "InitiateMultipartUploadResult", "<UploadId>u</UploadId>")
	case r.Method == http.MethodPost:
		f.objects[key] = f.kept(f.parts[key])
		answerXML(w, http.StatusOK, "CompleteMultipartUploadResult", "<Bucket>bucket</Bucket><ETag>e</ETag>")
	case r.Method == http.MethodPut && query.Has("uploadId"):
		f.parts[key] = body
	case r.Method == http.MethodPut && r.Header.Get("X-Amz-Copy-Source") != "":
		_, from, _ := strings.Cut(strings.TrimPrefix(r.Header.Get("X-Amz-Copy-Source"), "/"), "/")
		f.objects[key] = f.kept(f.objects[from])
		answerXML(w, http.StatusOK, "CopyObjectResult", "<ETag>e</ETag>")
	case r.Method == http.MethodPut:
		if _, taken := f.objects[key]; taken && !f.deaf && r.Header.Get("If-None-Match") == "*" {
			answerXML(w, http.StatusPreconditionFailed, "Error", "<Code>PreconditionFailed</Code>")
			return
		}
		f.objects[key] = body
	case r.Method == http.MethodDelete:
		if !f.keeps {
			delete(f.objects, key)
		}
		w.WriteHeader(http.StatusNoContent)
	case key == "":
		f.list(w, query.Get("prefix"), query.Get("delimiter"))
	default:
		object, ok := f.objects[key]
		if !ok {
			answerXML(w, http.StatusNotFound, "Error", "<Code>NoSuchKey</Code>")
			return
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(object)))
		_, _ = w.Write(object)
	}
}

// kept returns the bytes that a copy has.
func (f *faulty) kept(body []byte) []byte {
	if f.lossy {
		return []byte(strings.ToUpper(string(body)))
	}

	return body
}

func (f *faulty) list(w http.ResponseWriter, prefix, delimiter string) {
	text, folders := "", map[string]bool{}
	for key, body := range f.objects {
		below, ok := strings.CutPrefix(key, prefix)
		if !ok {
			continue
		}
		if folder, _, in := strings.Cut(below, "/"); in && delimiter != "" {
			folders[folder] = true
			continue
		}
		text += fmt.Sprintf("<Contents><Key>%s</Key><Size>%d</Size><LastModified>%s</LastModified></Contents>",
			key, len(body), time.Now().Add(f.skew).UTC().Format("2006-01-02T15:04:05.000Z"))
	}
	for folder := range folders {
		text += "<CommonPrefixes><Prefix>" + prefix + folder + "/</Prefix></CommonPrefixes>"
	}
	answerXML(w, http.StatusOK, "ListBucketResult", text)
}

// answerXML answers with an XML document.
func answerXML(w http.ResponseWriter, status int, name, text string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, "%s<%s>%s</%[2]s>", xml.Header, name, text)
}

// refuses answers requests of a kind with a status and a code.
func refuses(status int, code string, which func(*http.Request) bool) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if which(r) {
			answerXML(w, status, "Error", "<Code>"+code+"</Code><Message>not here</Message>")
		}

		return which(r)
	}
}

// The kinds of requests.
func conditional(r *http.Request) bool { return r.Header.Get("If-None-Match") != "" }
func copying(r *http.Request) bool     { return r.Header.Get("X-Amz-Copy-Source") != "" }
func deleting(r *http.Request) bool    { return r.Method == http.MethodDelete }
func inParts(r *http.Request) bool     { return r.URL.Query().Has("uploads") }
func listing(r *http.Request) bool     { return r.URL.Query().Has("list-type") }
func putting(r *http.Request) bool     { return r.Method == http.MethodPut }

// left returns the keys of the server's objects.
func (f *faulty) left() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var keys []string
	for key := range f.objects {
		keys = append(keys, key)
	}
	slices.Sort(keys)

	return keys
}
