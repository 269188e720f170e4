package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/s3response"
)

// durable adds the syncing that the posix backend lacks. An object's bytes are on disk before its name appears, so that
// after a power loss no reader sees a torn object under a write-once key; and the name and the metadata are on disk
// before the client hears of success.
type durable struct {
	*posix.Posix

	folders folders
}

// PutObject stores an object.
func (d *durable) PutObject(ctx context.Context, in s3response.PutObjectInput) (s3response.PutObjectOutput, error) {
	since := d.folders.age()
	out, err := d.PutObjectWithPostFunc(ctx, in, (*os.File).Sync)
	if err != nil {
		return out, err
	}

	return out, d.folders.syncName(since, *in.Bucket, *in.Key)
}

// CompleteMultipartUpload makes one object of the uploaded parts.
func (d *durable) CompleteMultipartUpload(ctx context.Context, in *s3.CompleteMultipartUploadInput) (
	s3response.CompleteMultipartUploadResult, string, error) {
	since := d.folders.age()
	out, version, err := d.CompleteMultipartUploadWithCopy(ctx, in, copyAndSync)
	if err != nil {
		return out, version, err
	}
	return out, version, d.folders.syncName(since, *in.Bucket, *in.Key)
}

// CopyObject copies within the store. The copy may be visible before its bytes
// are on disk; success is reported only after.
func (d *durable) CopyObject(ctx context.Context, in s3response.CopyObjectInput) (s3response.CopyObjectOutput, error) {
	since := d.folders.age()
	out, err := d.Posix.CopyObject(ctx, in)
	if err != nil {
		return out, err
	}

	return out, d.folders.syncName(since, *in.Bucket, *in.Key)
}

// DeleteObject deletes an object, and the folders that are empty without it.
func (d *durable) DeleteObject(ctx context.Context, in *s3.DeleteObjectInput) (*s3.DeleteObjectOutput, error) {
	defer d.folders.remove()()

	return d.Posix.DeleteObject(ctx, in)
}

// DeleteBucket deletes an empty bucket.
func (d *durable) DeleteBucket(ctx context.Context, bucket string) error {
	defer d.folders.remove()()

	return d.Posix.DeleteBucket(ctx, bucket)
}

// DeleteObjects deletes several objects, as DeleteObject does.
func (d *durable) DeleteObjects(ctx context.Context, in *s3.DeleteObjectsInput) (s3response.DeleteResult, error) {
	defer d.folders.remove()()

	return d.Posix.DeleteObjects(ctx, in)
}

// copyAndSync appends one part. The parts stay, so the upload can be retried.
func copyAndSync(from, to *os.File) (retryable bool, err error) {
	if _, err := io.Copy(to, from); err != nil {
		return true, err
	}

	return true, to.Sync()
}

// syncPath syncs a path. It ignores a path that a concurrent delete has removed.
func syncPath(path string) error {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}

	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()

	return file.Sync()
}
