package store

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/collabui/collabui/fault"
)

// lying is a bucket that reports a write although it wrote nothing, or other bytes.
type lying struct {
	Bucket
	instead []byte // nil: nothing is written
}

func (l lying) PutOnce(ctx context.Context, key string, _ []byte) (bool, error) {
	if l.instead == nil {
		return true, nil
	}

	return l.Bucket.PutOnce(ctx, key, l.instead)
}

func TestABlobIsReadBackBeforeItIsNamed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		instead []byte
		want    fault.Kind
	}{
		"nothing is there":     {nil, fault.Transient},
		"other bytes are":      {[]byte("weighty"), fault.Corrupt},
		"a part of them is":    {[]byte("weigh"), fault.Corrupt},
		"an empty object is":   {[]byte{}, fault.Corrupt},
		"the bytes themselves": {[]byte("weights"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "from")
			if err := os.WriteFile(file, []byte("weights"), 0o600); err != nil {
				t.Fatal(err)
			}
			_, ofBytes := PutBlob(t.Context(), lying{&Memory{}, c.instead}, []byte("weights"))
			_, ofFile := PutBlobFile(t.Context(), lying{&Memory{}, c.instead}, file)
			_, streaming := PutBlobFile(t.Context(), streamed{Bucket: lying{&Memory{}, c.instead}}, file)
			again := c.want
			if again == fault.Corrupt {
				again = fault.Transient // it was sent once more, and may be sent again
			}
			for how, x := range map[string]struct {
				err  error
				want fault.Kind
			}{"bytes": {ofBytes, c.want}, "a file": {ofFile, c.want}, "a streamed file": {streaming, again}} {
				if got := kindOrNone(x.err); got != x.want {
					t.Errorf("a blob of %s: %v, want the kind %q", how, x.err, x.want)
				}
			}
		})
	}
}

func kindOrNone(err error) fault.Kind {
	if err == nil {
		return ""
	}

	return fault.KindOf(err)
}

// TestABlobThatWasWrittenByHalfIsWrittenAgain makes a server keep half of a blob.
func TestABlobThatWasWrittenByHalfIsWrittenAgain(t *testing.T) {
	t.Parallel()
	body := []byte("weights")
	m := &Memory{}
	m.Damage(BlobPrefix+Sum(body), body[:3])
	if _, err := PutBlob(t.Context(), m, body); err != nil {
		t.Fatalf("PutBlob() = %v, want nil", err)
	}
	if got, err := GetBlob(t.Context(), m, Sum(body)); err != nil || string(got) != "weights" {
		t.Errorf("GetBlob() = %q, %v, want the bytes that were written", got, err)
	}
}

// TestAReaderTakesABlobBackFromTheTrash covers a blob that a collection moved to the trash, and that a manifest has
// named since.
func TestAReaderTakesABlobBackFromTheTrash(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]func(b Bucket, sum string) ([]byte, error){
		"whole": func(b Bucket, sum string) ([]byte, error) { return GetBlob(t.Context(), b, sum) },
		"stream": func(b Bucket, sum string) (body []byte, err error) {
			err = StreamBlob(t.Context(), b, sum, func(r io.Reader) (err error) {
				body, err = io.ReadAll(r)

				return err
			})

			return body, err
		},
		"file": func(b Bucket, sum string) ([]byte, error) {
			file := filepath.Join(t.TempDir(), "policy")
			if err := GetBlobFile(t.Context(), b, sum, file); err != nil {
				return nil, err
			}

			return os.ReadFile(file)
		},
	} {
		b := &Memory{}
		ref, err := PutBlob(t.Context(), b, []byte("a policy"))
		if err == nil {
			err = b.Copy(t.Context(), ref.Key, TrashKey(ref.Key, 7))
		}
		if err == nil {
			err = b.Delete(t.Context(), ref.Key)
		}
		if err != nil {
			t.Fatal(err)
		}
		if body, err := read(b, ref.SHA256); err != nil || string(body) != "a policy" {
			t.Errorf("%s: the blob is %q, %v; want its bytes", name, body, err)
		}
		if body, err := b.Get(t.Context(), ref.Key); err != nil || string(body) != "a policy" {
			t.Errorf("%s: in its place is %q, %v; want it there again", name, body, err)
		}
	}
}
