package simulation

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/collabui/collabui/internal/store"
)

// s3 is an S3 server as a transport: the real client talks to it without a network.
type s3 struct {
	*scheduler
	objects *store.Memory
}

const bucketName = "bucket"

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

	can := s3Faults
	if req.Method == http.MethodPut && store.IsBlob(key) {
		can = append(can[:len(can):len(can)], s3BlobFaults...)
	}
	k, after, err := s.at(ctx, req.Method+" "+key, can...)
	if err != nil {
		return nil, err
	}
	switch k {
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
	case S3Conflict:
		if req.Method == http.MethodPut {
			return fails(req, http.StatusConflict, "ConditionalRequestConflict"), nil
		}
	case S3Lies:
		return respond(req, http.StatusOK, nil), nil
	case S3Torn:
		s.objects.Damage(key, body[:len(body)/2])

		return fails(req, http.StatusInternalServerError, "InternalError"), nil
	}

	res, err := s.answer(ctx, req, key, body)
	after()
	if e := executionOf(ctx); e != nil && e.isDead() {
		return nil, errDead
	}
	if err != nil {
		return nil, err
	}
	switch k {
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

// half returns the first half of a body, and then an error.
func half(res *http.Response, then func() error) io.Reader {
	return io.MultiReader(io.LimitReader(res.Body, res.ContentLength/2), failing(then))
}

type failing func() error

func (f failing) Read([]byte) (int, error) { return 0, f() }

// answer does what a request asks for.
func (s *s3) answer(ctx context.Context, req *http.Request, key string, body []byte) (*http.Response, error) {
	switch {
	case req.Method == http.MethodPut && req.Header.Get("If-None-Match") != "*":
		s.objects.Damage(key, body)

		return respond(req, http.StatusOK, nil), nil
	case req.Method == http.MethodPut:
		created, err := s.objects.PutOnce(ctx, key, body)
		if err != nil {
			return nil, err
		}
		if !created {
			return fails(req, http.StatusPreconditionFailed, "PreconditionFailed"), nil
		}

		return respond(req, http.StatusOK, nil), nil
	case key == "":
		return s.list(ctx, req)
	}

	found, err := s.objects.Get(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return fails(req, http.StatusNotFound, "NoSuchKey"), nil
	}
	if err != nil {
		return nil, err
	}

	return respond(req, http.StatusOK, found), nil
}

func (s *s3) list(ctx context.Context, req *http.Request) (*http.Response, error) {
	prefix := req.URL.Query().Get("prefix")
	type content struct {
		Key  string
		Size int64
	}
	type folder struct{ Prefix string }
	out := struct {
		XMLName        xml.Name `xml:"ListBucketResult"`
		IsTruncated    bool
		Contents       []content
		CommonPrefixes []folder
	}{}
	if req.URL.Query().Get("delimiter") == "/" {
		names, err := s.objects.Folders(ctx, prefix)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			out.CommonPrefixes = append(out.CommonPrefixes, folder{prefix + name + "/"})
		}
		raw, err := xml.Marshal(out)

		return respond(req, http.StatusOK, raw), err
	}
	refs, err := s.objects.List(ctx, prefix)
	if err != nil {
		return nil, err
	}
	for _, r := range refs {
		out.Contents = append(out.Contents, content{r.Key, r.Size})
	}
	raw, err := xml.Marshal(out)

	return respond(req, http.StatusOK, raw), err
}

func fails(req *http.Request, status int, code string) *http.Response {
	return respond(req, status, fmt.Appendf(nil, "<Error><Code>%s</Code></Error>", code))
}

func respond(req *http.Request, status int, body []byte) *http.Response {
	h := http.Header{}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("Last-Modified", time.Unix(0, 0).UTC().Format(http.TimeFormat))
	h.Set("ETag", `"e"`)
	if req.Method == http.MethodHead {
		return &http.Response{
			StatusCode: status, Status: http.StatusText(status), Header: h, Request: req, Proto: "HTTP/1.1",
			ProtoMajor: 1, ProtoMinor: 1, Body: http.NoBody, ContentLength: int64(len(body)),
		}
	}

	return &http.Response{
		StatusCode: status, Status: http.StatusText(status), Header: h, Request: req, Proto: "HTTP/1.1",
		ProtoMajor: 1, ProtoMinor: 1, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}
}
