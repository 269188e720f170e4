// Package store keeps the write-once objects that are the source of truth of every run. Manifests are JSON with their
// own hash; large things are blobs, named by their content. Nothing is ever overwritten or appended to, except blobs
// that do not have the bytes of their names.
package store

import (
	"context"
	"errors"
)

// Ref names an object and fixes its bytes.
type Ref struct {
	Key    string `json:"key"`
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
}

// Same reports whether both references name the same bytes, even under different keys: forks have copies.
func (r Ref) Same(ref Ref) bool { return r.SHA256 == ref.SHA256 && r.Size == ref.Size }

// ErrNotFound means that no object has the key.
var ErrNotFound = errors.New("no such object")

// Bucket is object storage as the store needs it. All calls may be repeated.
type Bucket interface {
	// PutOnce writes an object unless the key is taken, and reports whether it did. If the key is taken, it changes
	// nothing.
	PutOnce(ctx context.Context, key string, body []byte) (created bool, err error)

	// Get reads an object. The error wraps ErrNotFound if there is no such object.
	Get(ctx context.Context, key string) ([]byte, error)

	// List returns keys and sizes under a prefix in lexical order.
	List(ctx context.Context, prefix string) ([]Ref, error)

	// Folders returns the names of the folders directly under a prefix that is empty or ends with a slash, in lexical
	// order. It takes one request for every 1,000 folders, however many objects they hold. A name is a hint that
	// something may be there, or was a moment ago: what matters is read by Get.
	Folders(ctx context.Context, prefix string) ([]string, error)
}
