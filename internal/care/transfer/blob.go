package transfer

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/care/verify"
	"github.com/collabui/collabui/internal/store"
)

// blob copies a blob through a file, unless the other side has the whole blob. The blob may be larger than memory.
func (t *transfer) blob(ctx context.Context, key string) (written bool, size int64, err error) {
	sum := strings.TrimPrefix(key, store.BlobPrefix)
	err = t.follow(ctx, t.to, key)
	if err == nil || !errors.Is(err, store.ErrAbsent) && fault.KindOf(err) != fault.Corrupt {
		return false, 0, err
	}
	if err := t.follow(ctx, t.from, key); errors.Is(err, store.ErrAbsent) && t.retired[sum] {
		return false, 0, nil
	} else if err != nil {
		return false, 0, err
	}
	dir, err := os.MkdirTemp("", "transfer-*")
	if err != nil {
		return false, 0, fault.As(fault.Transient, err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := filepath.Join(dir, "blob")
	if err := store.GetBlobFile(ctx, t.from, sum, file); err != nil {
		return false, 0, err
	}
	ref, err := store.PutBlobFile(ctx, t.to, file)

	return err == nil, ref.Size, err
}

// follow reads and verifies a blob, and queues its references: a policy of several files refers to these files.
func (t *transfer) follow(ctx context.Context, bucket store.Bucket, key string) error {
	sum := strings.TrimPrefix(key, store.BlobPrefix)
	beginning := make([]byte, 16)
	if err := store.StreamBlob(ctx, bucket, sum, func(reader io.Reader) error {
		n, err := io.ReadFull(reader, beginning)
		beginning = beginning[:n]
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) { // a short blob
			err = nil
		}

		return err
	}); err != nil || !verify.IsArtifact(beginning) {
		return err
	}
	raw, err := store.GetBlob(ctx, bucket, sum)
	if err != nil {
		return err
	}
	refs, err := verify.Inspect(key, raw)
	t.add(refs...)

	return err
}
