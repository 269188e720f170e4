package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/collabui/collabui/fault"
)

// streamed is a bucket that accepts files as S3 does.
type streamed struct{ Bucket }

func (s streamed) upload(ctx context.Context, key, file string, _ int64, _ bool) error {
	raw, err := os.ReadFile(file)
	if err == nil {
		_, err = s.PutOnce(ctx, key, raw)
	}

	return err
}

func (s streamed) download(ctx context.Context, key string, w io.Writer) error {
	raw, err := s.Get(ctx, key)
	if err == nil {
		_, err = io.Copy(w, bytes.NewReader(raw))
	}

	return err
}

// eachWay runs a test with both ways to store files.
func eachWay(t *testing.T, test func(t *testing.T, b Bucket, dir string)) {
	t.Helper()
	for name, b := range map[string]Bucket{"in memory": &Memory{}, "streamed": streamed{Bucket: &Memory{}}} {
		t.Run(name, func(t *testing.T) { test(t, b, t.TempDir()) })
	}
}

// put stores weights as a file and returns a reference to them.
func put(t *testing.T, b Bucket, dir string) Ref {
	t.Helper()
	file := filepath.Join(dir, "from")
	if err := os.WriteFile(file, []byte("weights"), 0o600); err != nil {
		t.Fatal(err)
	}
	ref, err := PutBlobFile(t.Context(), b, file)
	if err != nil {
		t.Fatal(err)
	}

	return ref
}

func TestAFileIsStoredByItsContent(t *testing.T) {
	eachWay(t, func(t *testing.T, b Bucket, dir string) {
		sum := Sum([]byte("weights"))
		want := Ref{Key: BlobPrefix + sum, SHA256: sum, Size: 7}
		for range 2 {
			if got := put(t, b, dir); got != want {
				t.Errorf("PutBlobFile() = %+v, want %+v", got, want)
			}
		}
	})
}

func TestAFolderHasExactlyItsFiles(t *testing.T) {
	eachWay(t, func(t *testing.T, b Bucket, dir string) {
		sum, to := put(t, b, dir).SHA256, filepath.Join(dir, "to")
		sums := map[string]string{"a/b": sum, "c": sum}
		if err := GetFiles(t.Context(), b, sums, to); err != nil {
			t.Fatal(err)
		}
		if err := CheckFiles(to, sums); err != nil {
			t.Errorf("CheckFiles() = %v, want no error", err)
		}
		slash := filepath.Join(dir, "slash") + string(filepath.Separator)
		if err := errors.Join(GetFiles(t.Context(), b, sums, slash), CheckFiles(slash, sums)); err != nil {
			t.Errorf("a folder whose name ends with a slash: %v, want its files", err)
		}
		if err := CheckFiles(to, map[string]string{"c": sum}); err == nil {
			t.Error("CheckFiles() accepts a folder with one more file, want an error")
		}
		if err := CheckFiles(filepath.Join(dir, "nowhere"), sums); err == nil {
			t.Error("CheckFiles() accepts a missing folder, want an error")
		}
		if err := os.WriteFile(filepath.Join(to, "c"), []byte("weighty"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := CheckFiles(to, sums); err == nil {
			t.Error("CheckFiles() accepts a changed file, want an error")
		}
	})
}

func TestAFolderIsWholeOrAbsent(t *testing.T) {
	eachWay(t, func(t *testing.T, b Bucket, dir string) {
		lost := filepath.Join(dir, "lost")
		sums := map[string]string{"c": put(t, b, dir).SHA256, "d": Sum([]byte("never stored"))}
		if err := GetFiles(t.Context(), b, sums, lost); err == nil {
			t.Error("GetFiles() accepts a file that is not in the store, want an error")
		}
		if _, err := os.Stat(lost); !os.IsNotExist(err) {
			t.Errorf("Stat(%s) = %v, want no folder", lost, err)
		}
		left, err := filepath.Glob(filepath.Join(dir, ".part-*"))
		if err != nil || len(left) > 0 {
			t.Errorf("left over: %v, %v; want nothing", left, err)
		}
	})
}

func TestBytesWithAnotherHashAreNotWritten(t *testing.T) {
	eachWay(t, func(t *testing.T, b Bucket, dir string) {
		sum := Sum([]byte("x"))
		if _, err := b.PutOnce(t.Context(), BlobPrefix+sum, []byte("not x")); err != nil {
			t.Fatal(err)
		}
		if err := GetBlobFile(t.Context(), b, sum, filepath.Join(dir, "x")); fault.KindOf(err) != fault.Corrupt {
			t.Errorf("GetBlobFile() = %v, want a corrupt fault", err)
		}
	})
}

func TestBytesWithAnotherHashAreNotRead(t *testing.T) {
	b, sum := &Memory{}, Sum([]byte("x"))
	b.Damage(BlobPrefix+sum, []byte("not x"))
	if got, err := GetBlob(t.Context(), b, sum); fault.KindOf(err) != fault.Corrupt {
		t.Errorf("GetBlob() = %q, %v, want a corrupt fault", got, err)
	}
	err := StreamBlob(t.Context(), b, sum, func(io.Reader) error { return nil })
	if fault.KindOf(err) != fault.Corrupt {
		t.Errorf("StreamBlob() = %v, want a corrupt fault", err)
	}
}

func TestBytesOfAFileThatChangesAreNeverSentWhole(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, []byte("weights"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		was  string // when the sum was computed
		size int
		want bool
	}{
		{"weights", 7, true},
		{"weights", 9, false},
		{"weighty", 7, false},
		{"weighty", 9, false},
	} {
		t.Run(fmt.Sprintf("%s of %d bytes", c.was, c.size), func(t *testing.T) {
			f, err := os.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = f.Close() }()
			body := &verified{file: f, left: int64(c.size), sum: Sum([]byte(c.was)), hash: sha256.New()}
			n, err := io.ReadFull(body, make([]byte, c.size))
			if whole := err == nil && n == c.size; whole != c.want {
				t.Errorf("%d of %d bytes, %v: sent whole %v, want %v", n, c.size, err, whole, c.want)
			}
		})
	}
}

func TestAPathThatLeavesItsFolderIsRefused(t *testing.T) {
	b := &Memory{}
	ref, err := PutBlob(t.Context(), b, []byte("planted"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"../a", "/etc/a", "a/../../b", "a//b", "./a", ".", "", "a/.."} {
		top := t.TempDir()
		dir := filepath.Join(top, "x", "folder")
		err := GetFiles(t.Context(), b, map[string]string{path: ref.SHA256}, dir)
		if fault.KindOf(err) != fault.Corrupt {
			t.Errorf("%q: got %v, want a corrupt fault", path, err)
		}
		if left, err := filepath.Glob(filepath.Join(top, "*")); err != nil || len(left) > 0 {
			t.Errorf("%q: got the files %v and error %v, want none", path, left, err)
		}
	}
}
