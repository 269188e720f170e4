package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/collabui/collabui/fault"
)

// upload sends a file in parts. Concurrent senders of one blob send the same bytes, so the order of arrival does not
// matter.
func (s *S3) upload(ctx context.Context, key, file string, size int64, force bool) (err error) {
	defer s.report(ctx, "put", time.Now(), &err)
	st, err := s.client.StatObject(ctx, s.bucket, key, minio.StatObjectOptions{})
	if err == nil && st.Size == size && !force {
		return nil
	}

	f, err := os.Open(file)
	if err != nil {
		return fault.As(fault.Transient, err)
	}
	defer func() { _ = f.Close() }()

	return s.within("put", key, func(partial bool) error {
		var body io.Reader = &verified{
			file: f, left: size, sum: strings.TrimPrefix(key, BlobPrefix), hash: sha256.New(),
		}
		if partial {
			body = io.LimitReader(body, size/2)
		}
		putObjectOptions := minio.PutObjectOptions{ContentType: "application/octet-stream"}
		if _, err := s.client.PutObject(ctx, s.bucket, key, body, size, putObjectOptions); err != nil {
			return fault.New(fault.Transient, "write %s: %w", key, err)
		}

		return nil
	})
}

// download writes an object to out, or part of it if it returns an error.
func (s *S3) download(ctx context.Context, key string, out io.Writer) (err error) {
	defer s.report(ctx, "get", time.Now(), &err)

	return s.within("get", key, func(partial bool) error {
		if partial {
			out = &half{w: out}
		}

		return s.copy(ctx, key, out)
	})
}

// copy writes an object to out, or part of it if it returns an error.
func (s *S3) copy(ctx context.Context, key string, out io.Writer) error {
	core := minio.Core{Client: s.client} // without a goroutine for readers that seek
	body, info, _, err := core.GetObject(ctx, s.bucket, key, minio.GetObjectOptions{})
	if err == nil {
		var n int64
		n, err = io.Copy(out, body)
		_ = body.Close()
		if err == nil && n < info.Size {
			err = io.ErrUnexpectedEOF
		}
	}
	if noSuchKey(err) {
		return fmt.Errorf("%s: %w", key, ErrNotFound)
	}
	if err != nil {
		return fault.New(fault.Transient, "read %s: %w", key, err)
	}

	return nil
}

// noSuchKey reports whether the server states that there is no such object. The client reports every 404 in this way;
// the server did so only if the response was an S3 error document.
func noSuchKey(err error) bool {
	errorResponse := minio.ToErrorResponse(err)

	return errorResponse.Code == minio.NoSuchKey && errorResponse.XMLName.Local == "Error"
}

// verified reads a file and withholds its last bytes if the whole does not have the sum, so that a wrong file is never
// sent completely.
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
	v.left -= int64(n)
	mismatch := v.left == 0 && hex.EncodeToString(v.hash.Sum(nil)) != v.sum
	short := v.left > 0 && err == io.EOF
	if mismatch || short {
		return 0, errChanged(v.file.Name())
	}

	return n, err
}

// half reads only the first half kilobyte.
type half struct {
	w    io.Writer
	done bool
}

func (h *half) Write(p []byte) (int, error) {
	if h.done {
		return 0, io.ErrShortWrite
	}
	h.done = true
	n, err := h.w.Write(p[:min(len(p)/2, 512)])

	return n, errors.Join(err, io.ErrShortWrite)
}
