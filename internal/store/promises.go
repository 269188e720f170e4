package store

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
)

// promisePrefix is the prefix of the objects with which Promises tries a store. A trial removes them all.
const promisePrefix = "tried/"

// Limits of a trial.
const (
	maxSkew    = time.Minute
	abandoned  = time.Hour // after which an object of a trial that was killed is removed by the next one
	tooSkewed  = "RequestTimeTooSkewed"
	otherClock = "the clock of the object store and the clock of this host differ by %v: set them by NTP"
)

// ErrNotTried means that the keys of this host do not permit everything that a trial does, as is usual for workers.
var ErrNotTried = errors.New("the keys of this host may not write and remove the objects of a trial")

// Promises tries what a store must promise and do, with small objects that it removes afterwards, and reports which
// promises are not kept, if any. It writes with If-None-Match twice, reads, lists, copies, uploads in parts and
// deletes, and compares the clocks. A promise that is not kept is tried twice, because a store may have a bad moment:
// Promises detects a store that never keeps it. The error names what could not be tried or removed, and wraps
// ErrNotTried if this host's keys do not permit it. It may be repeated.
func Promises(ctx context.Context, keeper Keeper) (broken string, err error) {
	if broken, err = promises(ctx, keeper); broken != "" {
		broken, err = promises(ctx, keeper)
	}

	return broken, err
}

func promises(ctx context.Context, keeper Keeper) (broken string, err error) {
	t := &trial{Keeper: keeper, folder: promisePrefix + rand.Text() + "/"}
	defer func() { err = errors.Join(err, t.clean(context.WithoutCancel(ctx))) }()
	for _, try := range []func(context.Context) (string, error){
		t.writes, t.reads, t.lists, t.copies, t.sendsParts, t.deletes,
	} {
		broken, err = try(ctx)
		if forbidden(err) {
			return "", fmt.Errorf("%w: %w", ErrNotTried, err)
		}
		if broken != "" || err != nil {
			return broken, err
		}
	}

	return "", nil
}

// forbidden reports whether an error means that the keys of this host do not permit the operation.
func forbidden(err error) bool {
	r := response(err)

	return r.Code != tooSkewed && (r.StatusCode == http.StatusForbidden || r.StatusCode == http.StatusUnauthorized)
}

// trial is one trial of a store.
type trial struct {
	Keeper
	folder string
	keys   []string // keys that may exist
}

// key returns the key of an object of the trial, which clean removes.
func (t *trial) key(name string) string {
	key := t.folder + name
	if !slices.Contains(t.keys, key) {
		t.keys = append(t.keys, key)
	}

	return key
}

// clean removes the objects of this trial, and of trials that were killed long ago.
func (t *trial) clean(ctx context.Context) (err error) {
	old, _ := t.Ages(ctx, promisePrefix) // the next trial tries again
	for _, aged := range old {
		if time.Since(aged.Written) > abandoned {
			t.keys = append(t.keys, aged.Key)
		}
	}
	for _, key := range t.keys {
		if e := t.Delete(ctx, key); e != nil {
			err = errors.Join(err, fmt.Errorf("the object of a trial stays in the store: %w", e))
		}
	}

	return err
}

// refused returns a sentence about the refusal of the store, if an error means that the store will always refuse.
func refused(what string, err error) (string, error) {
	r := response(err)
	switch r.StatusCode {
	case http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusNotImplemented, http.StatusLengthRequired,
		http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity, http.StatusPreconditionFailed:
	case http.StatusForbidden:
		if r.Code == tooSkewed {
			return "the clock of the object store and the clock of this host differ by more than the store allows: " +
				"set them by NTP", nil
		}

		return "", err
	default:
		return "", err
	}
	switch r.Code { // codes of status 400 that concern the keys
	case "ExpiredToken", "InvalidToken", "InvalidAccessKeyId", minio.AuthorizationHeaderMalformed:
		return "", err
	}

	return fmt.Sprintf("the object store refuses %s: HTTP %d (%s)", what, r.StatusCode, r.Error()), nil
}

// writes writes twice under one key.
func (t *trial) writes(ctx context.Context) (string, error) {
	const protection = "If-None-Match keeps a second writer from replacing what is recorded, and nothing else does"
	first, err := t.PutOnce(ctx, t.key("a"), []byte("first"))
	if err != nil {
		if forbidden(err) {
			t.keys = nil // nothing was written
		}
		broken, err := refused("a write with If-None-Match", err)
		if broken != "" {
			broken += ". " + protection
		}

		return broken, err
	}
	if !first {
		return "the object store reports that a new object exists already", nil
	}

	second, err := t.PutOnce(ctx, t.key("a"), []byte("second"))
	if err != nil {
		return refused("the second write of a key in another way than by 412", err)
	}
	if second {
		return "the object store ignores If-None-Match: it let a second writer replace an object. " + protection, nil
	}

	return "", nil
}

// reads reads the object, and compares the clocks.
func (t *trial) reads(ctx context.Context) (string, error) {
	read, err := t.Get(ctx, t.key("a"))
	if errors.Is(err, ErrNotFound) {
		return "an object is not there as soon as it is written", nil
	}
	if err != nil {
		return refused("to read an object", err)
	}
	if string(read) == "second" {
		return "the object store does not honour If-None-Match: it refused the second writer, and kept its object", nil
	}
	if string(read) != "first" {
		return fmt.Sprintf("an object has other bytes than were written: %q", read), nil
	}

	written, err := t.Written(ctx, t.key("a"))
	if err != nil {
		return refused("to read when an object was written", err)
	}
	if skew := time.Since(written).Round(time.Second); skew.Abs() > maxSkew {
		return fmt.Sprintf(otherClock, skew.Abs()), nil
	}

	return "", nil
}

// lists looks for the object in lists of objects and of folders.
func (t *trial) lists(ctx context.Context) (string, error) {
	listed, err := t.List(ctx, promisePrefix)
	if err != nil {
		return refused("to list objects", err)
	}
	if !slices.ContainsFunc(listed, func(o Ref) bool { return o.Key == t.key("a") && o.Size == int64(len("first")) }) {
		return "a list lacks an object that was written before, or has another size of it", nil
	}
	folders, err := t.Folders(ctx, promisePrefix)
	if err != nil {
		return refused("to list folders", err)
	}
	if !slices.Contains(folders, strings.Trim(strings.TrimPrefix(t.folder, promisePrefix), "/")) {
		return "a list lacks the folder of an object that was written before", nil
	}

	return "", nil
}

// copies copies the object.
func (t *trial) copies(ctx context.Context) (string, error) {
	if err := t.Copy(ctx, t.key("a"), t.key("b")); err != nil {
		return refused("to copy an object, by which gc moves what it removes into the trash", err)
	}

	return t.differs(ctx, "b", "first", "a copy is not what was copied")
}

// sendsParts uploads an object in parts, if this store can do so.
func (t *trial) sendsParts(ctx context.Context) (string, error) {
	b, ok := t.Keeper.(interface {
		inParts(ctx context.Context, key string, body []byte) error
	})
	if !ok {
		return "", nil
	}
	if err := b.inParts(ctx, t.key("c"), []byte("parts")); err != nil {
		return refused("an upload in parts, as of policies", err)
	}

	return t.differs(ctx, "c", "parts", "an object that was uploaded in parts is not there, or has other bytes")
}

// differs returns a sentence if an object is missing or has other bytes.
func (t *trial) differs(ctx context.Context, name, want, sentence string) (string, error) {
	read, err := t.Get(ctx, t.key(name))
	if errors.Is(err, ErrNotFound) || err == nil && string(read) != want {
		return sentence, nil
	}

	return "", err
}

// deletes removes the object.
func (t *trial) deletes(ctx context.Context) (string, error) {
	if err := t.Delete(ctx, t.key("a")); err != nil {
		return refused("to delete an object", err)
	}
	_, err := t.Get(ctx, t.key("a"))
	switch {
	case err == nil:
		return "an object that was deleted is still there", nil
	case errors.Is(err, ErrNotFound):
		return "", nil
	}

	return "", err
}

// inParts uploads an object in one part.
func (s *S3) inParts(ctx context.Context, key string, body []byte) error {
	core := minio.Core{Client: s.client}
	id, err := core.NewMultipartUpload(ctx, s.bucket, key, minio.PutObjectOptions{})
	if err != nil {
		return err
	}
	part, err := core.PutObjectPart(ctx, s.bucket, key, id, 1, bytes.NewReader(body), int64(len(body)),
		minio.PutObjectPartOptions{})
	if err == nil {
		parts := []minio.CompletePart{{PartNumber: 1, ETag: part.ETag}}
		_, err = core.CompleteMultipartUpload(ctx, s.bucket, key, id, parts, minio.PutObjectOptions{})
	}
	if err != nil {
		_ = core.AbortMultipartUpload(context.WithoutCancel(ctx), s.bucket, key, id) // gc removes what remains
	}

	return err
}
