package store

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func TestFilesAreTheObjectsOfAFolder(t *testing.T) {
	dir := t.TempDir()
	for _, key := range []string{"runs/a/spec.json", "runs/ab/spec.json", "runs/a.json", "blobs/x", ".sgwtmp/half"} {
		file := filepath.Join(dir, filepath.FromSlash(key))
		err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(key), 0o644))
		if err != nil {
			t.Fatal(err)
		}
	}
	b := Files{Dir: dir}
	for prefix, want := range map[string][]string{
		"":        {"blobs/x", "runs/a.json", "runs/a/spec.json", "runs/ab/spec.json"},
		"runs/a":  {"runs/a.json", "runs/a/spec.json", "runs/ab/spec.json"},
		"runs/a/": {"runs/a/spec.json"},
		"none/":   nil,
	} {
		refs, err := b.List(t.Context(), prefix)
		var got []string
		for _, r := range refs {
			got = append(got, r.Key)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("List(%q) = %v, %v, want %v", prefix, got, err, want)
		}
	}
	for prefix, want := range map[string][]string{"": {"blobs", "runs"}, "runs/": {"a", "ab"}, "none/": nil} {
		if got, err := b.Folders(t.Context(), prefix); err != nil || !slices.Equal(got, want) {
			t.Errorf("Folders(%q) = %q, %v, want %q", prefix, got, err, want)
		}
	}
	if body, err := b.Get(t.Context(), "runs/a/spec.json"); err != nil || string(body) != "runs/a/spec.json" {
		t.Errorf("Get = %q, %v, want the file", body, err)
	}
	if at, err := b.Written(t.Context(), "runs/a/spec.json"); err != nil || time.Since(at) > time.Hour {
		t.Errorf("Written = %v, %v, want the time of the file", at, err)
	}
	for _, key := range []string{"runs/none.json", "runs/a"} {
		if _, err := b.Written(t.Context(), key); !errors.Is(err, ErrNotFound) {
			t.Errorf("Written(%q) = %v, want %v", key, err, ErrNotFound)
		}
		if _, err := b.Get(t.Context(), key); !errors.Is(err, ErrNotFound) {
			t.Errorf("Get(%q) = %v, want %v", key, err, ErrNotFound)
		}
	}
	if _, err := b.Get(t.Context(), "../secret"); err == nil || errors.Is(err, ErrNotFound) {
		t.Errorf("Get outside of the folder = %v, want an error", err)
	}
}
