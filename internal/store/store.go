// Package store keeps write-once artefacts on S3: the truth of every run. Manifests are JSON with their own hash; large things are blobs named by their
// content. Nothing is ever overwritten or appended to. It knows internal/fault only.
package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/collabui/collabui/fault"
)

// Ref names an object and fixes its bytes.
type Ref struct {
	Key    string `json:"key"`
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
}

// ErrNotFound says that no object has a key.
var ErrNotFound = errors.New("no such object")

// Bucket is the object storage as the store needs it. All methods may be repeated; PutOnce with other bytes under a taken key changes nothing.
type Bucket interface {
	// PutOnce writes key if nothing has it; created tells whether this call did.
	PutOnce(ctx context.Context, key string, body []byte) (created bool, err error)
	// Get reads an object; ErrNotFound if there is none.
	Get(ctx context.Context, key string) ([]byte, error)
	// List gives keys and sizes under a prefix in lexical order.
	List(ctx context.Context, prefix string) ([]Ref, error)
}

// Config is where the bucket is. Secrets come from the environment, never from a specification.
type Config struct {
	Endpoint string // host:port
	Bucket   string
	Access   string
	Secret   string
	TLS      bool
}

// S3 is a Bucket on any S3 server that honours If-None-Match.
type S3 struct {
	client *minio.Client
	bucket string
}

// Open connects; it makes no request.
func Open(c Config) (*S3, error) {
	// Region is given so that no request asks for the bucket's location. TrailingHeaders stay off: the embedded gateway rejects their checksums.
	cl, err := minio.New(c.Endpoint, &minio.Options{Creds: credentials.NewStaticV4(c.Access, c.Secret, ""), Secure: c.TLS, Region: "us-east-1"})
	if err != nil {
		return nil, fault.New(fault.Invalid, "object store %q: %w", c.Endpoint, err)
	}
	return &S3{cl, c.Bucket}, nil
}

// Check makes one request.
func (s *S3) Check(ctx context.Context) error {
	ok, err := s.client.BucketExists(ctx, s.bucket)
	if err == nil && !ok {
		err = fmt.Errorf("no bucket %q", s.bucket)
	}
	return err
}

// PutOnce writes with If-None-Match: *, in one request, so that an object is there whole or not at all.
func (s *S3) PutOnce(ctx context.Context, key string, body []byte) (bool, error) {
	o := minio.PutObjectOptions{DisableMultipart: true, ContentType: "application/octet-stream"}
	o.SetMatchETagExcept("*")
	_, err := s.client.PutObject(ctx, s.bucket, key, bytes.NewReader(body), int64(len(body)), o)
	if code := minio.ToErrorResponse(err).StatusCode; err != nil && (code == 412 || code == 409) {
		return false, nil
	}
	if err != nil {
		return false, fault.New(fault.Transient, "write %s: %w", key, err)
	}
	return true, nil
}

// Get reads an object whole.
func (s *S3) Get(ctx context.Context, key string) ([]byte, error) {
	o, err := s.client.GetObject(ctx, s.bucket, key, minio.GetObjectOptions{})
	if err != nil {
		return nil, fault.New(fault.Transient, "read %s: %w", key, err)
	}
	defer func() { _ = o.Close() }()
	b, err := io.ReadAll(o)
	if minio.ToErrorResponse(err).Code == "NoSuchKey" {
		return nil, fmt.Errorf("%s: %w", key, ErrNotFound)
	}
	if err != nil {
		return nil, fault.New(fault.Transient, "read %s: %w", key, err)
	}
	return b, nil
}

// List gives keys and sizes under a prefix in lexical order.
func (s *S3) List(ctx context.Context, prefix string) ([]Ref, error) {
	var out []Ref
	for o := range s.client.ListObjects(ctx, s.bucket, minio.ListObjectsOptions{Prefix: prefix, Recursive: true}) {
		if o.Err != nil {
			return nil, fault.New(fault.Transient, "list %s: %w", prefix, o.Err)
		}
		out = append(out, Ref{Key: o.Key, Size: o.Size})
	}
	return out, nil
}

// Sum is the hex SHA-256 of bytes.
func Sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// envelope is the form of every JSON object: its own hash stands beside the body.
type envelope struct {
	Format int             `json:"format"`
	SHA256 string          `json:"sha256"` // of the body's bytes
	Body   json.RawMessage `json:"body"`
}

// FormatVersion is the version of the form in which manifests are stored.
const FormatVersion = 1

// Seal encodes a manifest.
func Seal(v any) ([]byte, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, fault.New(fault.Fatal, "encode manifest: %w", err)
	}
	return json.Marshal(envelope{FormatVersion, Sum(body), body})
}

// Unseal verifies a manifest's bytes and gives its body. Any change of any byte is a corrupt fault, because the only accepted form is the one that Seal writes.
func Unseal(key string, raw []byte) (json.RawMessage, error) {
	var e envelope
	if err := json.Unmarshal(raw, &e); err != nil {
		return nil, fault.New(fault.Corrupt, "%s is no manifest: %w", key, err)
	}
	if e.Format != FormatVersion {
		return nil, fault.New(fault.Corrupt, "%s has format %d; this version reads %d", key, e.Format, FormatVersion)
	}
	again, err := json.Marshal(e)
	if err != nil || !bytes.Equal(again, raw) || Sum(e.Body) != e.SHA256 {
		return nil, fault.New(fault.Corrupt, "%s: the bytes do not have the hash that they state", key)
	}
	return e.Body, nil
}

// Read decodes a manifest.
func Read[T any](ctx context.Context, b Bucket, key string) (T, Ref, error) {
	var v T
	raw, err := b.Get(ctx, key)
	if err != nil {
		return v, Ref{}, err
	}
	body, err := Unseal(key, raw)
	if err != nil {
		return v, Ref{}, err
	}
	if err := json.Unmarshal(body, &v); err != nil {
		return v, Ref{}, fault.New(fault.Corrupt, "%s: %w", key, err)
	}
	return v, Ref{key, Sum(raw), int64(len(raw))}, nil
}

// RecordOnce is the one primitive behind everything that is recorded: if key exists its value is returned and fn is not called; else fn's value is
// written if nobody was faster, and what stands in the store is returned. It may run twice, at once or half.
func RecordOnce[T any](ctx context.Context, b Bucket, key string, fn func() (T, error)) (T, Ref, error) {
	v, ref, err := Read[T](ctx, b, key)
	if !errors.Is(err, ErrNotFound) {
		return v, ref, err
	}
	if v, err = fn(); err != nil {
		return v, Ref{}, err
	}
	raw, err := Seal(v)
	if err != nil {
		return v, Ref{}, err
	}
	created, err := b.PutOnce(ctx, key, raw)
	if err != nil {
		return v, Ref{}, err
	}
	if !created {
		return Read[T](ctx, b, key)
	}
	return v, Ref{key, Sum(raw), int64(len(raw))}, nil
}

// BlobPrefix is where blobs stand.
const BlobPrefix = "blobs/"

// PutBlob writes bytes by content.
func PutBlob(ctx context.Context, b Bucket, body []byte) (Ref, error) {
	r := Ref{Key: BlobPrefix + Sum(body), SHA256: Sum(body), Size: int64(len(body))}
	_, err := b.PutOnce(ctx, r.Key, body)
	return r, err
}

// GetBlob reads bytes by content and verifies them.
func GetBlob(ctx context.Context, b Bucket, sum string) ([]byte, error) {
	body, err := b.Get(ctx, BlobPrefix+sum)
	if err != nil {
		return nil, err
	}
	if Sum(body) != sum {
		return nil, fault.New(fault.Corrupt, "%s%s: the bytes do not have that hash", BlobPrefix, sum)
	}
	return body, nil
}

// IsBlob tells a blob's key from a manifest's.
func IsBlob(key string) bool { return strings.HasPrefix(key, BlobPrefix) }
