package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/process/failpoint"
)

// Config says where the bucket is. Secrets come from the environment, never from a specification.
type Config struct {
	Endpoint string // host:port
	Bucket   string
	Region   string // empty: the endpoint's, or the one that the server names
	Style    Style
	Access   string
	Secret   string
	Token    string // of keys that expire; empty for others

	// Keys is asked for every request. If it is nil, keys are the three above or, without them, those of AWS's places.
	Keys func() (access, secret, token string)

	TLS   bool
	Stall time.Duration // after which a request that makes no progress fails; 0: 20 s

	Transport http.RoundTripper // makes the requests; nil: the network
}

// Style is how an address names the bucket.
type Style string

// The styles. Most servers know Path, some clouds Virtual alone.
const (
	StyleAuto    Style = ""        // Virtual for AWS, Google and Alibaba, Path for all others
	StylePath    Style = "path"    // https://host/bucket/key
	StyleVirtual Style = "virtual" // https://bucket.host/key
)

// lookup returns a style as the client calls it.
func (s Style) lookup() (minio.BucketLookupType, error) {
	switch s {
	case StyleAuto:
		return minio.BucketLookupAuto, nil
	case StylePath:
		return minio.BucketLookupPath, nil
	case StyleVirtual:
		return minio.BucketLookupDNS, nil
	}

	return 0, fault.New(fault.Invalid, "the style of the object store's addresses is %q; expected %q or %q",
		s, StylePath, StyleVirtual)
}

// S3 is a Bucket on any S3 server that honours If-None-Match.
type S3 struct {
	client   *minio.Client
	bucket   string
	observed Observer // nil: nobody
}

// Observer is told of an operation that has ended: put, get or list.
type Observer func(ctx context.Context, operation string, began time.Time, err error)

// Observe lets o know of all operations, those on files included. It must be called before the first one.
func (s *S3) Observe(o Observer) { s.observed = o }

// ended is to be deferred at the beginning of an operation.
func (s *S3) ended(ctx context.Context, operation string, began time.Time, err *error) {
	if s.observed != nil {
		s.observed(ctx, operation, began, *err)
	}
}

// requestTries is how often one request is tried. Whoever asked tries again later.
const requestTries = 5

// Open returns the bucket. It makes no request. A wrong address or style is an invalid fault.
func Open(c Config) (*S3, error) {
	if c.Transport == nil {
		var err error
		if c.Transport, err = minio.DefaultTransport(c.TLS); err != nil {
			return nil, fault.New(fault.Invalid, "object store %q: %w", c.Endpoint, err)
		}
	}
	if c.Stall == 0 {
		c.Stall = defaultStall
	}
	style, err := c.Style.lookup()
	if err != nil {
		return nil, err
	}

	// Without a region the client asks for that of the bucket. TrailingHeaders stay off: the embedded gateway rejects
	// their checksums.
	client, err := minio.New(c.Endpoint, &minio.Options{
		Creds:        c.credentials(),
		Secure:       c.TLS,
		BucketLookup: style,
		Region:       c.Region,
		Transport:    stallLimit{c.Transport, c.Stall},
		MaxRetries:   requestTries,
	})
	if err != nil {
		return nil, fault.New(fault.Invalid, "object store %q: %w", c.Endpoint, err)
	}

	return &S3{client: client, bucket: c.Bucket}, nil
}

// Check returns an error unless the bucket exists and may be read. It makes one request, and another one if that fails:
// the answer to a HEAD has no words.
func (s *S3) Check(ctx context.Context) error {
	ok, err := s.client.BucketExists(ctx, s.bucket)
	if err == nil && !ok {
		return fmt.Errorf("no bucket %q: create it, or set COLLABUI_BUCKET to the name of another one", s.bucket)
	}
	if status(err) != 0 {
		err = s.listOne(ctx)
	}
	if code := minio.ToErrorResponse(err).Code; code == minio.AuthorizationHeaderMalformed ||
		code == minio.InvalidRegion {
		err = fmt.Errorf("%w: set COLLABUI_S3_REGION to the region of the bucket", err)
	}

	return err
}

// listOne returns why objects cannot be listed, in the server's words.
func (s *S3) listOne(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // of the pages that follow
	for o := range s.client.ListObjects(ctx, s.bucket, minio.ListObjectsOptions{MaxKeys: 1, Recursive: true}) {
		return o.Err
	}

	return nil
}

// conflicts is how often PutOnce tries while there are conflicts, with pauses from 50 ms that double: 1.6 s in all.
const conflicts = 6

// PutOnce writes with If-None-Match: * in one request, so an object exists whole or not at all. A conflict means that
// another write of the key is under way, which may fail, so it is tried again. That the key is taken is believed only
// if the object is there. If a request failed before, it may have left half of a blob, which readers need not see at
// once if a replica answers them. So the blob is written again: its name is the hash of its bytes.
func (s *S3) PutOnce(ctx context.Context, key string, body []byte) (created bool, err error) {
	defer s.ended(ctx, "put", time.Now(), &err)
	err = failpoint.Do(place("put.", key), func(torn bool) (err error) {
		created, err = s.putOnce(ctx, key, body, torn)

		return err
	})

	return created && err == nil, err
}

func (s *S3) putOnce(ctx context.Context, key string, body []byte, torn bool) (bool, error) {
	o := minio.PutObjectOptions{DisableMultipart: true, ContentType: "application/octet-stream"}
	o.SetMatchETagExcept("*")
	ctx, requests := counted(ctx)
	var err error
	for try := range conflicts {
		var r io.Reader = bytes.NewReader(body)
		if torn {
			r = io.LimitReader(r, int64(len(body)/2))
		}
		if _, err = s.client.PutObject(ctx, s.bucket, key, r, int64(len(body)), o); err == nil {
			return true, nil
		}
		if status(err) != http.StatusConflict || try == conflicts-1 {
			break
		}
		select {
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case <-time.After(50 * time.Millisecond << try):
		}
	}
	if status(err) == http.StatusPreconditionFailed {
		failed := requests.Load() > 1
		_, err = s.client.StatObject(ctx, s.bucket, key, minio.StatObjectOptions{})
		switch {
		case err == nil && failed && IsBlob(key):
			return false, s.replace(ctx, key, body)
		case err == nil:
			return false, nil
		}
	}

	return false, fault.New(fault.Transient, "write %s: %w", key, err)
}

// replace writes an object, whether or not the key is taken.
func (s *S3) replace(ctx context.Context, key string, body []byte) (err error) {
	defer s.ended(ctx, "put", time.Now(), &err)
	o := minio.PutObjectOptions{DisableMultipart: true, ContentType: "application/octet-stream"}
	if _, err := s.client.PutObject(ctx, s.bucket, key, bytes.NewReader(body), int64(len(body)), o); err != nil {
		return fault.New(fault.Transient, "write %s: %w", key, err)
	}

	return nil
}

// response returns the server's answer that an error is about, or nothing.
func response(err error) (r minio.ErrorResponse) {
	errors.As(err, &r)

	return r
}

// status returns the HTTP status of an error of S3, or 0.
func status(err error) int { return response(err).StatusCode }

// Get reads a whole object.
func (s *S3) Get(ctx context.Context, key string) ([]byte, error) {
	var b bytes.Buffer
	if err := s.download(ctx, key, &b); err != nil {
		return nil, err
	}

	return b.Bytes(), nil
}

// numbers matches what two objects of a kind differ in: numbers, digests, and the names of what is evaluated.
var numbers = regexp.MustCompile(`/a?\d+|/[0-9a-f]{64}|-\d{6}|calls/..|evals/.+/(\d+$)?`)

// place returns the name of a request for failpoints, if there are any.
func place(what, key string) string {
	if !failpoint.Set() {
		return ""
	}

	return what + placeOf(key)
}

// placeOf returns the name of a key for failpoints: its path without names and numbers.
func placeOf(key string) string {
	if IsBlob(key) {
		return strings.TrimSuffix(BlobPrefix, "/")
	}
	parts := strings.SplitN(strings.TrimSuffix(key, ".json"), "/", 3) // runs, a name, the rest

	return strings.Trim(numbers.ReplaceAllStringFunc("/"+parts[len(parts)-1], func(s string) string {
		if strings.HasPrefix(s, "evals/") || strings.HasPrefix(s, "calls/") {
			return s[:6]
		}

		return ""
	}), "/")
}

// List returns keys and sizes under a prefix in lexical order.
func (s *S3) List(ctx context.Context, prefix string) (out []Ref, err error) {
	defer s.ended(ctx, "list", time.Now(), &err)
	for o := range s.client.ListObjects(ctx, s.bucket, minio.ListObjectsOptions{Prefix: prefix, Recursive: true}) {
		if o.Err != nil {
			return nil, fault.New(fault.Transient, "list %s: %w", prefix, o.Err)
		}
		out = append(out, Ref{Key: o.Key, Size: o.Size})
	}

	return out, nil
}

// Folders returns the names of the folders directly under a prefix, in lexical order.
func (s *S3) Folders(ctx context.Context, prefix string) (out []string, err error) {
	defer s.ended(ctx, "list", time.Now(), &err)
	for o := range s.client.ListObjects(ctx, s.bucket, minio.ListObjectsOptions{Prefix: prefix}) {
		if o.Err != nil {
			return nil, fault.New(fault.Transient, "list %s: %w", prefix, o.Err)
		}
		if name, folder := strings.CutSuffix(strings.TrimPrefix(o.Key, prefix), "/"); folder && name != "" {
			out = append(out, name)
		}
	}
	slices.Sort(out) // with their slashes, "ab" is before "a"

	return out, nil
}
