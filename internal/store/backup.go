package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/collabui/collabui/fault"
)

// Backup is a folder that objects are copied to, a file for each. Unlike that of an S3 server, it can be written to.
type Backup struct{ Files }

// PutOnce writes an object unless the key is taken. A file appears whole or not at all.
func (d Backup) PutOnce(ctx context.Context, key string, body []byte) (bool, error) {
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	path := filepath.FromSlash(key)
	if !filepath.IsLocal(path) {
		return false, fault.New(fault.Corrupt, "%q is not the key of an object", key)
	}
	file := filepath.Join(d.Dir, path)
	if _, err := os.Lstat(file); err == nil {
		return false, nil
	}
	tmp := filepath.Join(d.Dir, unfinished)
	err := errors.Join(os.MkdirAll(tmp, 0o700), os.MkdirAll(filepath.Dir(file), 0o700))
	if err != nil {
		return false, fault.As(fault.Transient, err)
	}
	f, err := os.CreateTemp(tmp, "object-*")
	if err != nil {
		return false, fault.As(fault.Transient, err)
	}
	defer func() { _ = os.Remove(f.Name()) }()

	_, err = f.Write(body)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return false, fault.As(fault.Transient, err)
	}
	err = os.Link(f.Name(), file) // which, unlike a rename, replaces nothing
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}

	return err == nil, fault.As(fault.Transient, err)
}

// replace writes an object, whether or not the key is taken.
func (d Backup) replace(ctx context.Context, key string, body []byte) error {
	if err := os.Remove(filepath.Join(d.Dir, filepath.FromSlash(key))); err != nil {
		return fault.As(fault.Transient, err)
	}
	_, err := d.PutOnce(ctx, key, body)

	return err
}
