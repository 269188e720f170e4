package store

import (
	"context"
	"time"
)

// Keeper is a Bucket whose objects can be removed. Only maintenance of the store does so; everything else writes once.
type Keeper interface {
	Bucket
	Clock

	// Copy writes the bytes of an object under another key, whether or not that is taken. The error wraps ErrNotFound
	// if there is no such object.
	Copy(ctx context.Context, from, to string) error

	// Delete removes an object if it exists.
	Delete(ctx context.Context, key string) error

	// Written reads a small object and returns when the server wrote it. The error wraps ErrNotFound if there is no
	// such object.
	Written(ctx context.Context, key string) (time.Time, error)
}

// Clock reports when objects were written. A copy of an object is as old as the copying, so nothing depends on it.
type Clock interface {
	// Ages returns keys and sizes under a prefix, and the time at which each object was written.
	Ages(ctx context.Context, prefix string) ([]Aged, error)
}

// Aged is an object and the time at which it was written.
type Aged struct {
	Ref
	Written time.Time
}

// Versioned is a Keeper whose bucket may keep versions of removed objects.
type Versioned interface {
	Keeper

	// Versions returns the versions of the objects under a prefix, and the times at which objects were removed, the
	// newest first for each key. It returns nothing if the bucket keeps no versions.
	Versions(ctx context.Context, prefix string) ([]Version, error)

	// Revive writes the bytes of a version under its key again. It may be repeated.
	Revive(ctx context.Context, v Version) error
}

// Version is a version of an object, or a record of its removal.
type Version struct {
	Aged
	ID      string
	Removed bool // the object was removed at that time, and this version has no bytes
}

// Uploader is a Keeper whose server accepts large objects in parts, which take space until the upload ends. An upload
// that was cut short never ends, and no LIST shows its parts.
type Uploader interface {
	Keeper

	// Uploads returns the uploads that have not ended.
	Uploads(ctx context.Context) ([]Upload, error)

	// Abort removes the parts of an upload, if there are any.
	Abort(ctx context.Context, u Upload) error
}

// Upload is an upload that has not ended.
type Upload struct {
	Key    string
	ID     string
	Active time.Time // when it began, or when its newest part was written
}
