package simulation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/collabui/collabui/internal/store"
)

// s3 is an S3 server as a transport: the real client talks to it without a network.
type s3 struct {
	*scheduler
	disk  *disk
	lag   time.Duration // of the replica that responds
	until time.Time     // time until which the replica responds

	requests map[string]int // requests by method; lists are LIST; if nil, they are not counted
}

const bucketName = "sim"

// open returns the bucket of the server by the real client.
func (s *s3) open() (*store.S3, error) {
	return store.Open(store.Config{
		Endpoint: "s3.simulation", Bucket: bucketName, Region: "us-east-1", TLS: true, Access: "a", Secret: "b",
		Transport: s,
	})
}

// behind lets a replica respond for a time, with the server's state of some time ago. Writes are decided by the server.
func (s *s3) behind(lag, last time.Duration) { s.lag, s.until = lag, time.Now().Add(last) }

// ago returns the age of the state that reads and lists see.
func (s *s3) ago() time.Duration {
	if time.Now().Before(s.until) {
		return s.lag
	}

	return 0
}

func (s *s3) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	key := strings.TrimPrefix(strings.TrimPrefix(req.URL.Path, "/"+bucketName), "/")
	var body []byte
	if req.Body != nil {
		var err error
		if body, err = io.ReadAll(req.Body); err != nil {
			return nil, err
		}
	}

	kind, after, err := s.at(ctx, req.Method+" "+key, s.can(req, key)...)
	if err != nil {
		return nil, err
	}
	if res, err := s.instead(req, kind, key, body); res != nil || err != nil {
		return res, err
	}

	s.count(req.Method, key)
	res, err := s.answer(req, key, body, kind)
	after()
	if e := executionOf(ctx); e != nil && e.isDead() {
		return nil, errDead
	}
	if err != nil {
		return nil, err
	}
	switch kind {
	case S3Lost:
		return nil, io.ErrUnexpectedEOF
	case S3Truncated:
		res.Body = io.NopCloser(half(res, func() error { return io.ErrUnexpectedEOF }))
	case S3Stalled:
		res.Body = io.NopCloser(half(res, func() error {
			<-ctx.Done()

			return context.Cause(ctx)
		}))
	}

	return res, nil
}

// Faults that can strike a request, by the kind of request.
var (
	s3Writes     = s3Faults
	s3BlobWrites = slices.Concat(s3Faults, s3BlobFaults)
	s3Reads      = slices.Concat(s3Faults, s3ReadFaults)
	s3Lists      = slices.Concat(s3Faults, s3ListFaults)
)

// can returns the faults that can strike a request.
func (s *s3) can(req *http.Request, key string) []FaultKind {
	switch {
	case key == "":
		return s3Lists
	case req.Method == http.MethodPut && store.IsBlob(key):
		return s3BlobWrites
	case req.Method == http.MethodGet || req.Method == http.MethodHead:
		if s.disk.get(key, 0).body != nil {
			return s3Reads
		}
	}

	return s3Writes
}

// instead returns a fault's response to a request that has no effect, or nil.
func (s *s3) instead(req *http.Request, kind FaultKind, key string, body []byte) (*http.Response, error) {
	switch kind {
	case S3Down, S3Away:
		return nil, errors.New("connection refused")
	case S3Error:
		return fails(req, http.StatusInternalServerError, "InternalError"), nil
	case S3Busy:
		return fails(req, http.StatusServiceUnavailable, "SlowDown"), nil
	case S3Full:
		if req.Method == http.MethodPut {
			return fails(req, http.StatusInsufficientStorage, "XMinioStorageFull"), nil
		}
	case S3Proxy:
		return respond(req, http.StatusNotFound, []byte("<html>no route</html>")), nil
	case S3Stale:
		return fails(req, http.StatusNotFound, "NoSuchKey"), nil
	case S3Conflict:
		if req.Method == http.MethodPut {
			return fails(req, http.StatusConflict, "ConditionalRequestConflict"), nil
		}
	case S3Lies:
		return respond(req, http.StatusOK, nil), nil
	case S3Torn:
		if s.disk.get(key, 0).body == nil {
			s.disk.put(key, body[:len(body)/2])
		}

		return fails(req, http.StatusInternalServerError, "InternalError"), nil
	}

	return nil, nil
}

// count counts a request.
func (s *s3) count(method, key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.requests == nil {
		return
	}
	if key == "" {
		method = "LIST"
	}
	s.requests[method]++
}

// half returns the first half of a body, and then an error.
func half(res *http.Response, then func() error) io.Reader {
	return io.MultiReader(io.LimitReader(res.Body, res.ContentLength/2), failing(then))
}

type failing func() error

func (f failing) Read([]byte) (int, error) { return 0, f() }

// answer executes a request.
func (s *s3) answer(req *http.Request, key string, body []byte, kind FaultKind) (*http.Response, error) {
	switch {
	case req.Method == http.MethodPut && req.Header.Get("X-Amz-Copy-Source") != "":
		return s.copy(req, key)
	case req.Method == http.MethodPut && req.Header.Get("If-None-Match") != "*":
		s.disk.put(key, body)

		return respond(req, http.StatusOK, nil), nil
	case req.Method == http.MethodPut:
		if !s.disk.putOnce(key, body) {
			return fails(req, http.StatusPreconditionFailed, "PreconditionFailed"), nil
		}
		if e := executionOf(req.Context()); e != nil && e.varies && !store.IsBlob(key) {
			s.effect(varied)
		}

		return respond(req, http.StatusOK, nil), nil
	case req.Method == http.MethodDelete:
		s.disk.remove(key)

		return respond(req, http.StatusNoContent, nil), nil
	case key == "" && req.URL.Query().Has("uploads"):
		return respond(req, http.StatusOK, []byte("<ListMultipartUploadsResult/>")), nil
	case key == "" && req.URL.Query().Has("versions"):
		return s.versions(req)
	case key == "":
		return s.list(req, kind)
	}

	found := s.disk.get(key, s.ago())
	if found.body == nil {
		return fails(req, http.StatusNotFound, "NoSuchKey"), nil
	}
	res := respond(req, http.StatusOK, found.body)
	res.Header.Set("Last-Modified", s.disk.written(found).UTC().Format(http.TimeFormat))

	return res, nil
}

// fails returns an error document of S3.
func fails(req *http.Request, status int, code string) *http.Response {
	return respond(req, status, fmt.Appendf(nil, "<Error><Code>%s</Code></Error>", code))
}

func respond(req *http.Request, status int, body []byte) *http.Response {
	res := &http.Response{
		StatusCode: status, Status: http.StatusText(status), Request: req,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{
			"Content-Length": {strconv.Itoa(len(body))},
			"Last-Modified":  {"Thu, 01 Jan 1970 00:00:00 GMT"},
			"Etag":           {`"e"`},
		},
		Body: http.NoBody, ContentLength: int64(len(body)),
	}
	if req.Method != http.MethodHead {
		res.Body = io.NopCloser(bytes.NewReader(body))
	}

	return res
}
