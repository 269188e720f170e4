package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/collabui/collabui/fault"
)

// Files is the bucket that the local S3 server keeps in a folder, read directly. This is many times faster than through
// the server, and works while the server is down. It is a Keeper that refuses to write and to delete.
type Files struct{ Dir string }

// errOnlyRead returns the error of a change.
func errOnlyRead(key string) error {
	return fault.New(fault.Fatal, "change %s: the files of an S3 server are only read", key)
}

// PutOnce always fails.
func (f Files) PutOnce(_ context.Context, key string, _ []byte) (bool, error) {
	return false, errOnlyRead(key)
}

// Copy always fails.
func (f Files) Copy(_ context.Context, _, to string) error { return errOnlyRead(to) }

// Delete always fails.
func (f Files) Delete(_ context.Context, key string) error { return errOnlyRead(key) }

// Get reads an object.
func (f Files) Get(ctx context.Context, key string) ([]byte, error) {
	var body bytes.Buffer
	err := f.download(ctx, key, &body)

	return body.Bytes(), err
}

// download writes an object to out, or part of it if it returns an error.
func (f Files) download(ctx context.Context, key string, out io.Writer) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	path := filepath.FromSlash(key)
	if !filepath.IsLocal(path) {
		return fault.New(fault.Corrupt, "%q is not the key of an object", key)
	}
	file, err := os.Open(filepath.Join(f.Dir, path))
	if err == nil {
		defer func() { _ = file.Close() }()
		if fileInfo, of := file.Stat(); of == nil && fileInfo.IsDir() {
			err = fs.ErrNotExist
		}
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return fmt.Errorf("%s: %w", key, ErrNotFound)
	}
	if err == nil {
		_, err = io.Copy(out, file)
	}

	return fault.As(fault.Transient, err)
}

// List returns keys and sizes under a prefix in lexical order.
func (f Files) List(ctx context.Context, prefix string) ([]Ref, error) {
	all, err := f.Ages(ctx, prefix)
	out := make([]Ref, len(all))
	for i, aged := range all {
		out[i] = aged.Ref
	}

	return out, err
}

// Folders returns the names of the folders directly under a prefix, in lexical order. A folder in which an object is
// being written may be empty.
func (f Files) Folders(ctx context.Context, prefix string) ([]string, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	entries, err := os.ReadDir(filepath.Join(f.Dir, filepath.FromSlash(prefix)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var out []string
	for _, entry := range entries {
		if entry.IsDir() && entry.Name() != unfinished {
			out = append(out, entry.Name())
		}
	}

	return out, fault.As(fault.Transient, err)
}

// Ages returns keys and sizes under a prefix in lexical order, and when each object was written.
func (f Files) Ages(ctx context.Context, prefix string) ([]Aged, error) {
	var out []Aged
	top := prefix[:strings.LastIndexByte(prefix, '/')+1]
	walk := func(p string, entry fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, fs.ErrNotExist): // nothing under the prefix, or an object was renamed meanwhile
			return nil
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == unfinished:
			return filepath.SkipDir
		case !entry.Type().IsRegular():
			return nil
		}
		rel, err := filepath.Rel(f.Dir, p)
		if err != nil {
			return err
		}
		key := filepath.ToSlash(rel)
		if info, err := entry.Info(); err == nil && strings.HasPrefix(key, prefix) {
			out = append(out, Aged{Ref{Key: key, Size: info.Size()}, info.ModTime()})
		}

		return nil
	}
	err := filepath.WalkDir(filepath.Join(f.Dir, filepath.FromSlash(top)), walk)
	slices.SortFunc(out, func(a, b Aged) int { return strings.Compare(a.Key, b.Key) })

	return out, fault.As(fault.Transient, err)
}

// Written returns when an object was written.
func (f Files) Written(_ context.Context, key string) (time.Time, error) {
	path := filepath.FromSlash(key)
	if !filepath.IsLocal(path) {
		return time.Time{}, fault.New(fault.Corrupt, "%q is not the key of an object", key)
	}
	info, err := os.Stat(filepath.Join(f.Dir, path))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || err == nil && info.IsDir() {
		return time.Time{}, fmt.Errorf("%s: %w", key, ErrNotFound)
	}
	if err != nil {
		return time.Time{}, fault.As(fault.Transient, err)
	}

	return info.ModTime(), nil
}

// unfinished is the folder in which the server keeps objects while it writes them.
const unfinished = ".sgwtmp"
