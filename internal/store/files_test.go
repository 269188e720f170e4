package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// streamed is a bucket that takes files as S3 does: another way to the same blobs.
type streamed struct{ *Memory }

func (s streamed) upload(ctx context.Context, key, file string, _ int64) error {
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

// TestFilesAreWholeOrAbsent on both ways.
func TestFilesAreWholeOrAbsent(t *testing.T) {
	for name, b := range map[string]Bucket{"memory": &Memory{}, "streamed": streamed{&Memory{}}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			from := filepath.Join(dir, "from")
			if err := os.WriteFile(from, []byte("weights"), 0o600); err != nil {
				t.Fatal(err)
			}
			ref, err := PutBlobFile(t.Context(), b, from)
			again, err2 := PutBlobFile(t.Context(), b, from)
			if err != nil || err2 != nil || ref != again || ref.SHA256 != Sum([]byte("weights")) || ref.Size != 7 {
				t.Fatalf("%+v %+v %v %v", ref, again, err, err2)
			}
			sums, to := map[string]string{"a/b": ref.SHA256, "c": ref.SHA256}, filepath.Join(dir, "to")
			if err := GetFiles(t.Context(), b, sums, to); err != nil || CheckFiles(to, sums) != nil {
				t.Fatal(err, CheckFiles(to, sums))
			}
			if err := os.WriteFile(filepath.Join(to, "c"), []byte("weighty"), 0o644); err != nil {
				t.Fatal(err)
			}
			if CheckFiles(to, sums) == nil || CheckFiles(to, map[string]string{"c": ref.SHA256}) == nil || CheckFiles(filepath.Join(dir, "nowhere"), sums) == nil {
				t.Error("a folder with other files is taken for right")
			}
			lost := filepath.Join(dir, "lost")
			if err := GetFiles(t.Context(), b, map[string]string{"c": ref.SHA256, "d": Sum([]byte("never stored"))}, lost); err == nil {
				t.Error("a file that is not in the store was written")
			}
			if _, err := os.Stat(lost); err == nil {
				t.Error("half a folder is there")
			}
			if left, _ := filepath.Glob(filepath.Join(dir, ".part-*")); len(left) > 0 {
				t.Errorf("left over: %v", left)
			}
			if _, err := b.PutOnce(t.Context(), BlobPrefix+Sum([]byte("x")), []byte("not x")); err != nil {
				t.Fatal(err)
			}
			if err := GetBlobFile(t.Context(), b, Sum([]byte("x")), filepath.Join(dir, "x")); err == nil {
				t.Error("bytes with another hash were written")
			}
		})
	}
}

// TestBytesOfAFileThatChangesAreNeverWholeOnTheWire: the last ones are withheld.
func TestBytesOfAFileThatChangesAreNeverWholeOnTheWire(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, []byte("weights"), 0o600); err != nil {
		t.Fatal(err)
	}
	for sum, want := range map[string]bool{Sum([]byte("weights")): true, Sum([]byte("weighty")): false} {
		for _, size := range []int64{7, 9} {
			f, err := os.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			got := make([]byte, size)
			n, err := io.ReadFull(&verified{file: f, left: size, sum: sum, hash: sha256.New()}, got)
			_ = f.Close()
			if whole := err == nil && n == int(size); whole != (want && size == 7) {
				t.Errorf("%v bytes of %v: %v", n, size, err)
			}
		}
	}
}
