package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/collabui/collabui/fault"
)

// GetFiles writes blobs, by path, into a folder. The folder is created under another name next to dir and renamed, so
// it appears whole or not at all. A folder that exists stays as it is. A path that leaves the folder is a corrupt
// fault: a record must not determine where files are placed on this machine.
func GetFiles(ctx context.Context, bucket Bucket, sums map[string]string, dir string) error {
	for path := range sums {
		local := filepath.FromSlash(path)
		if !filepath.IsLocal(local) || filepath.Clean(local) != local || local == "." {
			return fault.New(fault.Corrupt, "%q is not a path inside a folder: the record that names it is wrong", path)
		}
	}
	dir = filepath.Clean(dir) // the parent of "model/" is not "model"
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return fault.As(fault.Transient, err)
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), ".part-*")
	if err != nil {
		return fault.As(fault.Transient, err)
	}
	defer func() { _ = os.RemoveAll(tmp) }()

	for path, sum := range sums {
		if err := GetBlobFile(ctx, bucket, sum, filepath.Join(tmp, filepath.FromSlash(path))); err != nil {
			return err
		}
	}
	if err := os.Chmod(tmp, 0o755); err != nil {
		return fault.As(fault.Transient, err)
	}
	if err := os.Rename(tmp, dir); err != nil && !errors.Is(err, os.ErrExist) {
		if _, there := os.Stat(dir); there == nil { // another process was faster
			return nil
		}

		return fault.As(fault.Transient, err)
	}

	return nil
}

// CheckFiles returns an error unless a folder has exactly the files with these hashes by path.
func CheckFiles(dir string, sums map[string]string) error {
	found := 0
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		want, ok := sums[filepath.ToSlash(rel)]
		if !ok || !entry.Type().IsRegular() {
			return fmt.Errorf("%s is not a file of the artifact", path)
		}

		found++
		got, _, err := sumFile(path)
		if err == nil && got != want {
			err = fmt.Errorf("%s has the SHA-256 %s instead of %s", path, got, want)
		}

		return err
	})
	if err == nil && found != len(sums) {
		err = fmt.Errorf("%s holds %d files instead of %d", dir, found, len(sums))
	}

	return err
}
