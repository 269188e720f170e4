package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/collabui/collabui/fault"
)

// Config describes where the bucket is. Secrets come from the environment, never from a specification.
type Config struct {
	Endpoint string // host:port
	Bucket   string
	Region   string // if empty, the endpoint's or the one that the server names
	Style    Style
	Access   string
	Secret   string
	Token    string // of keys that expire; empty for others

	// Keys provides the credentials of every request. If it is nil, they are the three above or, if these are empty,
	// come from the places that AWS's programs search.
	Keys func() (access, secret, token string)

	TLS   bool
	Stall time.Duration // after which a request that makes no progress fails; 0 means 20 s

	Transport http.RoundTripper // makes the requests; nil means the network
}

// Style is the place of the bucket's name in an address.
type Style string

// The styles. Most servers support Path, some clouds only Virtual.
const (
	StyleAuto    Style = ""        // Virtual for AWS, Google and Alibaba, Path for all others
	StylePath    Style = "path"    // https://host/bucket/key
	StyleVirtual Style = "virtual" // https://bucket.host/key
)

// lookup returns a style as the client names it.
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
	observed Observer // may be nil
	around   Around   // may be nil
}

// Observer is called after an operation has ended: put, get or list.
type Observer func(ctx context.Context, operation string, began time.Time, err error)

// Observe reports all operations to observer, including operations on files. It must be called before the first one.
func (s *S3) Observe(observer Observer) { s.observed = observer }

// Around runs the effect of a put or a get on a key and returns the error of the operation. With partial, the effect
// moves only half of the bytes.
type Around func(operation, key string, effect func(partial bool) error) error

// Surround runs all puts and gets within around. It must be called before the first one.
func (s *S3) Surround(around Around) { s.around = around }

// within runs an effect within the function that Surround was given.
func (s *S3) within(operation, key string, effect func(partial bool) error) error {
	if s.around == nil {
		return effect(false)
	}

	return s.around(operation, key, effect)
}

// report reports an operation to the observer, if any. It is deferred at the beginning of the operation.
func (s *S3) report(ctx context.Context, operation string, began time.Time, err *error) {
	if s.observed != nil {
		s.observed(ctx, operation, began, *err)
	}
}

// requestTries is how often one request is tried. Callers try again later.
const requestTries = 5

// Open returns the bucket. It makes no request. A wrong address or style is an invalid fault.
func Open(config Config) (*S3, error) {
	if config.Transport == nil {
		var err error
		if config.Transport, err = minio.DefaultTransport(config.TLS); err != nil {
			return nil, fault.New(fault.Invalid, "object store %q: %w", config.Endpoint, err)
		}
	}
	if config.Stall == 0 {
		config.Stall = defaultStall
	}
	style, err := config.Style.lookup()
	if err != nil {
		return nil, err
	}

	// If no region is given, the client requests the bucket's. TrailingHeaders stay off: the embedded gateway rejects
	// their checksums.
	client, err := minio.New(config.Endpoint, &minio.Options{
		Creds:        config.credentials(),
		Secure:       config.TLS,
		BucketLookup: style,
		Region:       config.Region,
		Transport:    stallLimit{config.Transport, config.Stall},
		MaxRetries:   requestTries,
	})
	if err != nil {
		return nil, fault.New(fault.Invalid, "object store %q: %w", config.Endpoint, err)
	}

	return &S3{client: client, bucket: config.Bucket}, nil
}

// Check returns an error unless the bucket exists and may be read. It makes one request, and another one if that fails,
// because the response to a HEAD has no message.
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
	defer cancel() // ends the listing of further pages
	for objectInfo := range s.client.ListObjects(ctx, s.bucket, minio.ListObjectsOptions{MaxKeys: 1, Recursive: true}) {
		return objectInfo.Err
	}

	return nil
}

// conflicts is how often PutOnce tries while there are conflicts, with pauses that double from 50 ms: 1.6 s in all.
const conflicts = 6

// PutOnce writes with If-None-Match: * in one request, so an object exists whole or not at all. A conflict means that
// another write of the key is under way, which may fail, so PutOnce tries again. It trusts a report that the key is
// taken only if the object exists. An earlier failed request may have left half of a blob, which readers of a replica
// may not see at once. The blob is therefore written again: its name is the hash of its bytes.
func (s *S3) PutOnce(ctx context.Context, key string, body []byte) (created bool, err error) {
	defer s.report(ctx, "put", time.Now(), &err)
	err = s.within("put", key, func(partial bool) (err error) {
		created, err = s.putOnce(ctx, key, body, partial)

		return err
	})

	return created && err == nil, err
}

func (s *S3) putOnce(ctx context.Context, key string, body []byte, partial bool) (bool, error) {
	putObjectOptions := minio.PutObjectOptions{DisableMultipart: true, ContentType: "application/octet-stream"}
	putObjectOptions.SetMatchETagExcept("*")
	ctx, requests := counted(ctx)
	var err error
	for try := range conflicts {
		var reader io.Reader = bytes.NewReader(body)
		if partial {
			reader = io.LimitReader(reader, int64(len(body)/2))
		}
		if _, err = s.client.PutObject(ctx, s.bucket, key, reader, int64(len(body)), putObjectOptions); err == nil {
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
	defer s.report(ctx, "put", time.Now(), &err)
	options := minio.PutObjectOptions{DisableMultipart: true, ContentType: "application/octet-stream"}
	if _, err := s.client.PutObject(ctx, s.bucket, key, bytes.NewReader(body), int64(len(body)), options); err != nil {
		return fault.New(fault.Transient, "write %s: %w", key, err)
	}

	return nil
}

// response returns the server's response that an error is about, or nothing.
func response(err error) (errorResponse minio.ErrorResponse) {
	errors.As(err, &errorResponse)

	return errorResponse
}

// status returns the HTTP status of an S3 error, or 0.
func status(err error) int { return response(err).StatusCode }

// Get reads a whole object.
func (s *S3) Get(ctx context.Context, key string) ([]byte, error) {
	var buffer bytes.Buffer
	if err := s.download(ctx, key, &buffer); err != nil {
		return nil, err
	}

	return buffer.Bytes(), nil
}

// List returns keys and sizes under a prefix in lexical order.
func (s *S3) List(ctx context.Context, prefix string) (out []Ref, err error) {
	defer s.report(ctx, "list", time.Now(), &err)
	for info := range s.client.ListObjects(ctx, s.bucket, minio.ListObjectsOptions{Prefix: prefix, Recursive: true}) {
		if info.Err != nil {
			return nil, fault.New(fault.Transient, "list %s: %w", prefix, info.Err)
		}
		out = append(out, Ref{Key: info.Key, Size: info.Size})
	}

	return out, nil
}

// Folders returns the names of the folders directly under a prefix, in lexical order.
func (s *S3) Folders(ctx context.Context, prefix string) (out []string, err error) {
	defer s.report(ctx, "list", time.Now(), &err)
	for objectInfo := range s.client.ListObjects(ctx, s.bucket, minio.ListObjectsOptions{Prefix: prefix}) {
		if objectInfo.Err != nil {
			return nil, fault.New(fault.Transient, "list %s: %w", prefix, objectInfo.Err)
		}
		if name, folder := strings.CutSuffix(strings.TrimPrefix(objectInfo.Key, prefix), "/"); folder && name != "" {
			out = append(out, name)
		}
	}
	slices.Sort(out) // with their slashes, "ab" sorts before "a"

	return out, nil
}
