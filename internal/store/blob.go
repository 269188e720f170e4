package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/collabui/collabui/fault"
)

// BlobPrefix is the prefix of the keys of blobs; the rest is the SHA-256 of their bytes.
const BlobPrefix = "blobs/"

// IsBlob reports whether a key names a blob rather than a manifest.
func IsBlob(key string) bool { return strings.HasPrefix(key, BlobPrefix) }

// PutBlob writes bytes under the key that their content determines, and reads them back, so that a record may name
// them. It returns a transient fault if the store lacks the blob that it accepted, and a corrupt one if it has other
// bytes.
func PutBlob(ctx context.Context, bucket Bucket, body []byte) (Ref, error) {
	sum := Sum(body)
	ref := Ref{Key: BlobPrefix + sum, SHA256: sum, Size: int64(len(body))}
	if _, err := bucket.PutOnce(ctx, ref.Key, body); err != nil {
		return ref, err
	}

	err := readBack(ctx, bucket, sum)
	if s, ok := bucket.(replaces); ok && fault.KindOf(err) == fault.Corrupt {
		if err := s.replace(ctx, ref.Key, body); err != nil {
			return ref, err
		}
		err = replaced(readBack(ctx, bucket, sum))
	}

	return ref, err
}

// replaced returns the error of reading back a blob that was written again. Other bytes may be the ones that were there
// before, so writing once more may help.
func replaced(err error) error {
	if fault.KindOf(err) == fault.Corrupt {
		return fault.New(fault.Transient, "the object store does not keep what is written to it: %w", err)
	}

	return err
}

// replaces is an optional capability of a Bucket: it overwrites a blob that a server wrote only in part. A blob's name
// determines its bytes, so nothing else can be lost.
type replaces interface {
	replace(ctx context.Context, key string, body []byte) error
}

// readBack checks that the store has a blob that it accepted.
func readBack(ctx context.Context, bucket Bucket, sum string) error {
	digest := sha256.New()
	err := copyBlob(ctx, bucket, sum, digest)
	switch {
	case errors.Is(err, ErrNotFound):
		return fault.New(fault.Transient, "%s%s: the object store took it, but does not have it", BlobPrefix, sum)
	case err == nil && hex.EncodeToString(digest.Sum(nil)) != sum:
		return fault.New(fault.Corrupt, "%w: delete it, then resume the run, which writes it again", errBlob(sum))
	}

	return err
}

// GetBlob reads a blob that a record names, by its sum, and verifies it. If the store does not show the blob, the fault
// wraps ErrAbsent. All functions that read blobs do the same, except MayBlob.
func GetBlob(ctx context.Context, bucket Bucket, sum string) ([]byte, error) {
	body, err := getBlob(ctx, bucket, sum)

	return body, mustExist(BlobPrefix+sum, err)
}

// MayBlob reads a blob that a person names, by its sum, and reports whether the store shows it.
func MayBlob(ctx context.Context, bucket Bucket, sum string) (body []byte, exists bool, err error) {
	body, err = getBlob(ctx, bucket, sum)
	if errors.Is(err, ErrNotFound) {
		return nil, false, nil
	}

	return body, err == nil, err
}

func getBlob(ctx context.Context, bucket Bucket, sum string) ([]byte, error) {
	body, err := bucket.Get(ctx, BlobPrefix+sum)
	if err != nil {
		err = fromTrash(ctx, bucket, BlobPrefix+sum, err)
		if err == nil {
			body, err = bucket.Get(ctx, BlobPrefix+sum)
		}
	}
	if err != nil {
		return nil, err
	}
	if Sum(body) != sum {
		return nil, errBlob(sum)
	}

	return body, nil
}

// StreamBlob passes a blob to use without holding it in memory. The result of use counts only if StreamBlob returns no
// error: the bytes are verified at their end.
func StreamBlob(ctx context.Context, bucket Bucket, sum string, use func(io.Reader) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	pipeReader, pipeWriter := io.Pipe()
	copied := make(chan error, 1)
	go func() {
		err := copyBlob(ctx, bucket, sum, pipeWriter)
		_ = pipeWriter.CloseWithError(err) // never fails; nil is the end of the file
		copied <- err
	}()

	digest := sha256.New()
	hashed := io.TeeReader(pipeReader, digest)
	used := use(hashed)
	_, _ = io.Copy(io.Discard, hashed) // an error of the download is in copied
	if err := <-copied; err != nil {
		return mustExist(BlobPrefix+sum, err)
	}
	if hex.EncodeToString(digest.Sum(nil)) != sum {
		return errBlob(sum)
	}

	return used
}

// uploads is an optional capability of a Bucket for blobs that should not pass through memory, such as weights of
// several gigabytes.
type uploads interface {
	// upload sends a file, unless force is false and the object already has the file's size.
	upload(ctx context.Context, key, file string, size int64, force bool) error
}

// downloads is the counterpart of uploads for reading.
type downloads interface {
	// download writes an object to w, or part of it if it returns an error. It writes nothing if the object is missing.
	download(ctx context.Context, key string, w io.Writer) error
}

// PutBlobFile is PutBlob for a file. If the file changes meanwhile, it returns a transient fault. It may be repeated:
// bytes that the store already has are not sent again.
func PutBlobFile(ctx context.Context, bucket Bucket, file string) (Ref, error) {
	sum, size, err := sumFile(file)
	if err != nil {
		return Ref{}, err
	}
	ref := Ref{Key: BlobPrefix + sum, SHA256: sum, Size: size}
	if s, ok := bucket.(uploads); ok {
		if err := s.upload(ctx, ref.Key, file, size, false); err != nil {
			return ref, err
		}
		err := readBack(ctx, bucket, sum)
		if fault.KindOf(err) == fault.Corrupt {
			if err := s.upload(ctx, ref.Key, file, size, true); err != nil {
				return ref, err
			}
			err = replaced(readBack(ctx, bucket, sum))
		}

		return ref, err
	}

	body, err := os.ReadFile(file)
	if err == nil && Sum(body) != sum {
		err = errChanged(file)
	}
	if err != nil {
		return ref, err
	}

	return PutBlob(ctx, bucket, body)
}

// GetBlobFile writes a blob to a file. The file is written under another name, verified and renamed, so it appears
// whole or not at all. It may be repeated.
func GetBlobFile(ctx context.Context, bucket Bucket, sum, file string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fault.As(fault.Transient, err)
	}
	f, err := os.CreateTemp(filepath.Dir(file), ".part-*")
	if err != nil {
		return fault.As(fault.Transient, err)
	}
	defer func() { _ = os.Remove(f.Name()) }() // fails after the rename

	digest := sha256.New()
	err = mustExist(BlobPrefix+sum, copyBlob(ctx, bucket, sum, io.MultiWriter(f, digest)))
	if err == nil {
		err = fault.As(fault.Transient, errors.Join(f.Chmod(0o644), f.Sync()))
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if hex.EncodeToString(digest.Sum(nil)) != sum {
		return errBlob(sum)
	}

	return fault.As(fault.Transient, os.Rename(f.Name(), file))
}

// copyBlob writes a blob to out without verifying it.
func copyBlob(ctx context.Context, bucket Bucket, sum string, out io.Writer) error {
	err := copyThere(ctx, bucket, sum, out)
	if errors.Is(err, ErrNotFound) {
		err = fromTrash(ctx, bucket, BlobPrefix+sum, err)
		if err == nil {
			err = copyThere(ctx, bucket, sum, out)
		}
	}

	return err
}

// copyThere is copyBlob for a blob that is not in the trash. If the blob is missing, it writes nothing.
func copyThere(ctx context.Context, bucket Bucket, sum string, out io.Writer) error {
	if s, ok := bucket.(downloads); ok {
		return s.download(ctx, BlobPrefix+sum, out)
	}
	body, err := bucket.Get(ctx, BlobPrefix+sum)
	if err == nil {
		_, err = io.Copy(out, bytes.NewReader(body))
	}

	return err
}

// sumFile returns the hex SHA-256 and the size of a file.
func sumFile(file string) (string, int64, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", 0, fault.As(fault.Transient, err)
	}
	defer func() { _ = f.Close() }()
	digest := sha256.New()
	n, err := io.Copy(digest, f)

	return hex.EncodeToString(digest.Sum(nil)), n, fault.As(fault.Transient, err)
}

func errBlob(sum string) error {
	return fault.New(fault.Corrupt, "%s%s: the bytes do not have that hash", BlobPrefix, sum)
}

func errChanged(file string) error {
	return fault.New(fault.Transient, "%s changed while it was stored", file)
}
