package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/collabui/collabui/fault"
)

// Backup is a folder of copied objects, one file per object. Unlike an S3 server's folder, it can be written to.
type Backup struct{ Files }

// PutOnce writes an object unless the key is taken. A file appears whole or not at all.
func (d Backup) PutOnce(ctx context.Context, key string, body []byte) (bool, error) {
	return d.write(ctx, key, bytes.NewReader(body), false)
}

// replace writes an object, whether or not the key is taken.
func (d Backup) replace(ctx context.Context, key string, body []byte) error {
	_, err := d.write(ctx, key, bytes.NewReader(body), true)

	return err
}

// upload copies a file, unless force is false and the object already has the file's size.
func (d Backup) upload(ctx context.Context, key, file string, size int64, force bool) error {
	f, err := os.Open(file)
	if err != nil {
		return fault.As(fault.Transient, err)
	}
	defer func() { _ = f.Close() }()

	if i, err := os.Stat(filepath.Join(d.Dir, filepath.FromSlash(key))); err == nil && i.Size() == size && !force {
		return nil
	}
	body := &verified{file: f, left: size, sum: strings.TrimPrefix(key, BlobPrefix), hash: sha256.New()}
	_, err = d.write(ctx, key, body, true)

	return err
}

// write writes an object and reports whether it did. If the key is taken, it writes only if over is true. A file
// appears whole or not at all.
func (d Backup) write(ctx context.Context, key string, body io.Reader, over bool) (bool, error) {
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	path := filepath.FromSlash(key)
	if !filepath.IsLocal(path) {
		return false, fault.New(fault.Corrupt, "%q is not the key of an object", key)
	}
	file := filepath.Join(d.Dir, path)
	if _, err := os.Lstat(file); err == nil && !over {
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
	defer func() { _ = os.Remove(f.Name()) }() // fails after the rename

	_, err = io.Copy(f, body)
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return false, fault.As(fault.Transient, err)
	}
	if over {
		err = os.Rename(f.Name(), file)

		return err == nil, fault.As(fault.Transient, err)
	}
	err = os.Link(f.Name(), file) // unlike a rename, a link replaces nothing
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}

	return err == nil, fault.As(fault.Transient, err)
}
