package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/minio/minio-go/v7"

	"github.com/collabui/collabui/fault"
)

// streams is what a Bucket may offer for blobs that should not pass through memory: weights of several gigabytes.
type streams interface {
	upload(ctx context.Context, key, file string, size int64) error
	download(ctx context.Context, key string, w io.Writer) error
}

// PutBlobFile writes a file's bytes by content; a file that changes meanwhile is a transient fault. It may be repeated: bytes that are there are not sent again.
func PutBlobFile(ctx context.Context, b Bucket, file string) (Ref, error) {
	sum, size, err := sumFile(file)
	if err != nil {
		return Ref{}, err
	}
	r := Ref{Key: BlobPrefix + sum, SHA256: sum, Size: size}
	s, ok := b.(streams)
	if !ok {
		body, err := os.ReadFile(file)
		if err == nil && Sum(body) != sum {
			err = errChanged(file)
		}
		if err == nil {
			_, err = b.PutOnce(ctx, r.Key, body)
		}
		return r, err
	}
	return r, s.upload(ctx, r.Key, file, size)
}

func errChanged(file string) error {
	return fault.New(fault.Transient, "%s changed while it was stored", file)
}

// sumFile is the hex SHA-256 and the size of a file. What cannot be read wraps the file system's error.
func sumFile(file string) (string, int64, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", 0, fault.As(fault.Transient, err)
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	n, err := io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), n, fault.As(fault.Transient, err)
}

// GetBlobFile writes a blob to a file: under another name first, verified, then renamed, so that the file is there whole or not at all. It may be repeated.
func GetBlobFile(ctx context.Context, b Bucket, sum, file string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fault.As(fault.Transient, err)
	}
	f, err := os.CreateTemp(filepath.Dir(file), ".part-*")
	if err != nil {
		return fault.As(fault.Transient, err)
	}
	defer func() { _ = os.Remove(f.Name()) }() // gone already where all went well
	h := sha256.New()
	if s, ok := b.(streams); ok {
		err = s.download(ctx, BlobPrefix+sum, io.MultiWriter(f, h))
	} else {
		var body []byte
		if body, err = b.Get(ctx, BlobPrefix+sum); err == nil {
			_, err = io.Copy(io.MultiWriter(f, h), bytes.NewReader(body))
		}
	}
	if err == nil {
		err = fault.As(fault.Transient, errors.Join(f.Chmod(0o644), f.Sync()))
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != sum {
		return fault.New(fault.Corrupt, "%s%s: the bytes do not have that hash", BlobPrefix, sum)
	}
	return fault.As(fault.Transient, os.Rename(f.Name(), file))
}

// upload sends a file in parts. Two senders of one blob send the same bytes, so that it does not matter whose arrive last.
func (s *S3) upload(ctx context.Context, key, file string, size int64) error {
	if st, err := s.client.StatObject(ctx, s.bucket, key, minio.StatObjectOptions{}); err == nil && st.Size == size {
		return nil
	}
	f, err := os.Open(file)
	if err != nil {
		return fault.As(fault.Transient, err)
	}
	defer func() { _ = f.Close() }()
	body := &verified{file: f, left: size, sum: strings.TrimPrefix(key, BlobPrefix), hash: sha256.New()}
	if _, err := s.client.PutObject(ctx, s.bucket, key, body, size, minio.PutObjectOptions{ContentType: "application/octet-stream"}); err != nil {
		return fault.New(fault.Transient, "write %s: %w", key, err)
	}
	return nil
}

// verified reads a file and withholds its last bytes where they do not make the sum: what is being sent is then never complete.
type verified struct {
	file *os.File
	left int64
	sum  string
	hash hash.Hash
}

func (v *verified) Read(p []byte) (int, error) {
	if v.left == 0 {
		return 0, io.EOF
	}
	n, err := v.file.Read(p[:min(int64(len(p)), v.left)])
	_, _ = v.hash.Write(p[:n]) // cannot fail
	if v.left -= int64(n); v.left == 0 && hex.EncodeToString(v.hash.Sum(nil)) != v.sum || err == io.EOF && v.left > 0 {
		return 0, errChanged(v.file.Name())
	}
	return n, err
}

func (s *S3) download(ctx context.Context, key string, w io.Writer) error {
	o, err := s.client.GetObject(ctx, s.bucket, key, minio.GetObjectOptions{})
	if err == nil {
		_, err = io.Copy(w, o)
		_ = o.Close()
	}
	if minio.ToErrorResponse(err).Code == "NoSuchKey" {
		return fmt.Errorf("%s: %w", key, ErrNotFound)
	}
	if err != nil {
		return fault.New(fault.Transient, "read %s: %w", key, err)
	}
	return nil
}

// GetFiles writes blobs, by path, into a folder that appears whole or not at all: it is made under another name beside dir and renamed. A folder that is
// there already is left as it is.
func GetFiles(ctx context.Context, b Bucket, sums map[string]string, dir string) error {
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
		if err := GetBlobFile(ctx, b, sum, filepath.Join(tmp, filepath.FromSlash(path))); err != nil {
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

// CheckFiles compares a folder with the hashes of its files by path; there must be those and no others.
func CheckFiles(dir string, sums map[string]string) error {
	found := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		want, ok := sums[filepath.ToSlash(rel)]
		if !ok || !d.Type().IsRegular() {
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
