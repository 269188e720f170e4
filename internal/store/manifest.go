package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/collabui/collabui/fault"
)

// Sum returns the hex SHA-256 of bytes.
func Sum(data []byte) string {
	h := sha256.Sum256(data)

	return hex.EncodeToString(h[:])
}

// envelope is the form of every manifest: the body with its own hash.
type envelope struct {
	Format int             `json:"format"`
	SHA256 string          `json:"sha256"` // hash of the body's bytes
	Body   json.RawMessage `json:"body"`
}

// FormatVersion is the version of the envelope's form.
const FormatVersion = 1

// Seal encodes a manifest.
func Seal(value any) ([]byte, error) {
	body, err := json.Marshal(value)
	if err != nil {
		return nil, fault.New(fault.Fatal, "encode manifest: %w", err)
	}

	return json.Marshal(envelope{Format: FormatVersion, SHA256: Sum(body), Body: body})
}

// Unseal verifies a manifest's bytes and returns its body. Any change of any byte is a corrupt fault, because only the
// form that Seal writes is accepted. The body is a part of raw; decoding it shows whether it is JSON.
func Unseal(key string, raw []byte) (json.RawMessage, error) {
	if len(raw) > len(sealed)+2*sha256.Size+len(sealedBody) {
		sum := raw[len(sealed):][:2*sha256.Size]
		rest := raw[len(sealed)+2*sha256.Size:]
		body := rest[len(sealedBody) : len(rest)-1]
		last := rest[len(rest)-1]
		framed := bytes.HasPrefix(raw, sealed) && bytes.HasPrefix(rest, sealedBody) && last == '}'
		if framed && Sum(body) == string(sum) {
			return body, nil
		}
	}

	return nil, whyNot(key, raw)
}

// sealed is the text before the hash in the output of Seal, and sealedBody the text between the hash and the body.
var (
	sealed     = fmt.Appendf(nil, `{"format":%d,"sha256":"`, FormatVersion)
	sealedBody = []byte(`","body":`)
)

// whyNot describes the damage to the bytes of a manifest.
func whyNot(key string, raw []byte) error {
	var e envelope
	if err := json.Unmarshal(raw, &e); err != nil {
		return fault.New(fault.Corrupt, "%s is not a manifest: %w", key, err)
	}
	if e.Format > FormatVersion {
		return fault.New(fault.Transient, "%s has format %d, this worker reads %d: give it the version of the others",
			key, e.Format, FormatVersion)
	}
	if e.Format != FormatVersion {
		return fault.New(fault.Corrupt, "%s has format %d; this version reads %d", key, e.Format, FormatVersion)
	}

	return fault.New(fault.Corrupt, "%s: the bytes do not have the hash that they state", key)
}

// Must reads a manifest that was written before: a record names it, or the caller knows about it. If the store does not
// show it, the fault wraps ErrAbsent; absence never counts as a fact.
func Must[T any](ctx context.Context, bucket Bucket, key string) (T, Ref, error) {
	v, ref, err := read[T](ctx, bucket, key)

	return v, ref, mustExist(key, err)
}

// May reads a manifest that may not have been written yet, and reports whether the store shows it. The caller must
// reach the same outcome if a manifest that exists is not shown, because a store may be late: what the caller does then
// is recorded by RecordOnce, is tried again, or is shown to a person. Any other caller needs Sure.
func May[T any](ctx context.Context, bucket Bucket, key string) (v T, exists bool, err error) {
	v, _, err = read[T](ctx, bucket, key)
	if errors.Is(err, ErrNotFound) {
		return v, false, nil
	}

	return v, err == nil, err
}

// Sure is May for a caller that bases a decision on absence. Two requests must agree: if a list shows a manifest that a
// read before and a read after the list do not, it returns a fault that wraps ErrAbsent.
func Sure[T any](ctx context.Context, bucket Bucket, key string) (v T, exists bool, err error) {
	v, exists, err = May[T](ctx, bucket, key)
	if err != nil || exists {
		return v, exists, err
	}
	listed, err := bucket.List(ctx, key)
	if err == nil && len(listed) > 0 && listed[0].Key == key { // the key itself is the first of its prefix
		v, exists, err = May[T](ctx, bucket, key) // it may have been written since the first read
		if err == nil && !exists {
			err = absent(key)
		}
	}

	return v, exists, err
}

// read decodes a manifest. The error wraps ErrNotFound if the store does not show it.
func read[T any](ctx context.Context, bucket Bucket, key string) (T, Ref, error) {
	var v T
	raw, err := bucket.Get(ctx, key)
	if err != nil {
		return v, Ref{}, err
	}
	body, err := Unseal(key, raw)
	if err != nil {
		return v, Ref{}, err
	}
	if err := decode(body, &v); err != nil {
		return v, Ref{}, fault.New(fault.Corrupt, "%s: %w", key, err)
	}

	return v, refTo(key, raw), nil
}

// decode is json.Unmarshal, except that a value with its own decoder is not scanned twice beforehand.
func decode(body []byte, value any) error {
	if own, ok := value.(json.Unmarshaler); ok {
		return own.UnmarshalJSON(body)
	}

	return json.Unmarshal(body, value)
}

// RecordOnce records the outcome of work. If the key exists, it returns the value recorded there and does not call fn.
// Otherwise it writes fn's value, unless another call was faster, and returns the first value written. It may be
// repeated, run concurrently, or be cut short.
func RecordOnce[T any](ctx context.Context, bucket Bucket, key string, fn func() (T, error)) (T, Ref, error) {
	v, ref, err := read[T](ctx, bucket, key)
	if !errors.Is(err, ErrNotFound) {
		return v, ref, err
	}

	if v, err = fn(); err != nil {
		return v, Ref{}, err
	}
	v, ref, _, err = WriteOnce(ctx, bucket, key, v)

	return v, ref, err
}

// WriteOnce is RecordOnce for a value that exists already: it writes without reading first. It reports whether this
// call wrote the object. A write whose response was lost counts as someone else's.
func WriteOnce[T any](ctx context.Context, bucket Bucket, key string, v T) (_ T, ref Ref, wrote bool, err error) {
	raw, err := Seal(v)
	if err != nil {
		return v, Ref{}, false, err
	}
	if wrote, err = bucket.PutOnce(ctx, key, raw); err != nil {
		return v, Ref{}, false, err
	}
	if !wrote {
		v, ref, err = Must[T](ctx, bucket, key)

		return v, ref, false, err
	}

	return v, refTo(key, raw), true, nil
}

func refTo(key string, raw []byte) Ref { return Ref{Key: key, SHA256: Sum(raw), Size: int64(len(raw))} }
