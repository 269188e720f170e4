package store

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/collabui/collabui/fault"
)

// Ages returns keys and sizes under a prefix, and the time at which each object was written.
func (s *S3) Ages(ctx context.Context, prefix string) ([]Aged, error) {
	var out []Aged
	for info := range s.client.ListObjects(ctx, s.bucket, minio.ListObjectsOptions{Prefix: prefix, Recursive: true}) {
		if info.Err != nil {
			return nil, fault.New(fault.Transient, "list %s: %w", prefix, info.Err)
		}
		out = append(out, Aged{Ref{Key: info.Key, Size: info.Size}, info.LastModified})
	}

	return out, nil
}

// Copy writes the bytes of an object under another key. Because the original may be deleted next, it then checks that
// the copy exists, no matter what the server responded.
func (s *S3) Copy(ctx context.Context, from, to string) error {
	source := minio.CopySrcOptions{Bucket: s.bucket, Object: from}
	dest := minio.CopyDestOptions{Bucket: s.bucket, Object: to}
	err := s.copyObject(ctx, dest, source)
	if noSuchKey(err) {
		return fmt.Errorf("%s: %w", from, ErrNotFound)
	}
	if err != nil {
		return fault.New(fault.Transient, "copy %s: %w", from, err)
	}

	var sizes [2]int64
	for i, key := range []string{from, to} {
		objectInfo, err := s.client.StatObject(ctx, s.bucket, key, minio.StatObjectOptions{})
		if err != nil {
			return fault.New(fault.Transient, "copy %s to %s: look for %s: %w", from, to, key, err)
		}
		sizes[i] = objectInfo.Size
	}
	if sizes[0] != sizes[1] {
		return fault.New(fault.Transient, "copy %s to %s: the copy has %d bytes, not %d", from, to, sizes[1], sizes[0])
	}

	return nil
}

// Delete removes an object if it exists.
func (s *S3) Delete(ctx context.Context, key string) error {
	if err := s.client.RemoveObject(ctx, s.bucket, key, minio.RemoveObjectOptions{}); err != nil {
		return fault.New(fault.Transient, "delete %s: %w", key, err)
	}

	return nil
}

// Written reads a small object and returns when the server wrote it. It sends a GET, because the response to a HEAD
// does not show whether it was the server that found no such object.
func (s *S3) Written(ctx context.Context, key string) (time.Time, error) {
	body, objectInfo, _, err := minio.Core{Client: s.client}.GetObject(ctx, s.bucket, key, minio.GetObjectOptions{})
	if err == nil {
		_, err = io.Copy(io.Discard, body)
		_ = body.Close()
	}
	if noSuchKey(err) {
		return time.Time{}, fmt.Errorf("%s: %w", key, ErrNotFound)
	}
	if err != nil {
		return time.Time{}, fault.New(fault.Transient, "read %s: %w", key, err)
	}

	return objectInfo.LastModified, nil
}

// Versions returns the versions of the objects under a prefix, and the times at which objects were removed, the newest
// first for each key.
func (s *S3) Versions(ctx context.Context, prefix string) ([]Version, error) {
	var out []Version
	options := minio.ListObjectsOptions{Prefix: prefix, Recursive: true, WithVersions: true}
	for v := range s.client.ListObjects(ctx, s.bucket, options) {
		if v.Err != nil {
			return nil, fault.New(fault.Transient, "list the versions of %s: %w", prefix, v.Err)
		}
		out = append(out, Version{
			Aged: Aged{Ref{Key: v.Key, Size: v.Size}, v.LastModified}, ID: v.VersionID, Removed: v.IsDeleteMarker,
		})
	}

	return out, nil
}

// Revive writes the bytes of a version under its key again. The server copies them.
func (s *S3) Revive(ctx context.Context, version Version) error {
	source := minio.CopySrcOptions{Bucket: s.bucket, Object: version.Key, VersionID: version.ID}
	dest := minio.CopyDestOptions{Bucket: s.bucket, Object: version.Key}
	if err := s.copyObject(ctx, dest, source); err != nil {
		return fault.New(fault.Transient, "take back version %s of %s: %w", version.ID, version.Key, err)
	}

	return nil
}

// copyObject makes the server copy an object: at once, or in parts if the server refuses more than 5 GiB.
func (s *S3) copyObject(ctx context.Context, to minio.CopyDestOptions, from minio.CopySrcOptions) error {
	_, err := s.client.CopyObject(ctx, to, from)
	if status(err) == http.StatusBadRequest {
		_, err = s.client.ComposeObject(ctx, to, from)
	}

	return err
}

// Uploads returns the uploads that have not ended.
func (s *S3) Uploads(ctx context.Context) ([]Upload, error) {
	var out []Upload
	for info := range s.client.ListIncompleteUploads(ctx, s.bucket, "", true) {
		if minio.ToErrorResponse(info.Err).Code == minio.NotImplemented {
			return nil, nil
		}
		if info.Err != nil {
			return nil, fault.New(fault.Transient, "list the uploads that have not ended: %w", info.Err)
		}
		active, err := s.newestPart(ctx, info)
		if minio.ToErrorResponse(err).Code == minio.NoSuchUpload { // it has ended meanwhile
			continue
		}
		if err != nil {
			return nil, fault.New(fault.Transient, "list the parts of the upload of %s: %w", info.Key, err)
		}
		out = append(out, Upload{Key: info.Key, ID: info.UploadID, Active: active})
	}

	return out, nil
}

// newestPart returns when the newest part of an upload was written, or when the upload began.
func (s *S3) newestPart(ctx context.Context, info minio.ObjectMultipartInfo) (time.Time, error) {
	active := info.Initiated
	for marker, more := 0, true; more; {
		parts, err := minio.Core{Client: s.client}.ListObjectParts(ctx, s.bucket, info.Key, info.UploadID, marker, 0)
		if err != nil {
			return active, err
		}
		for _, objectPart := range parts.ObjectParts {
			if objectPart.LastModified.After(active) {
				active = objectPart.LastModified
			}
		}
		marker, more = parts.NextPartNumberMarker, parts.IsTruncated && parts.NextPartNumberMarker > marker
	}

	return active, nil
}

// Abort removes the parts of an upload, if there are any.
func (s *S3) Abort(ctx context.Context, upload Upload) error {
	err := minio.Core{Client: s.client}.AbortMultipartUpload(ctx, s.bucket, upload.Key, upload.ID)
	if err != nil && minio.ToErrorResponse(err).Code != minio.NoSuchUpload {
		return fault.New(fault.Transient, "abort the upload of %s: %w", upload.Key, err)
	}

	return nil
}
