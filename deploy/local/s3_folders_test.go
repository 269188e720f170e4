package main

import (
	"os"
	"path/filepath"
	"testing"
)

// in makes a folder the working directory, with an object in it.
func in(t *testing.T, object string) {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.MkdirAll(filepath.Dir(object), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(object, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestFoldersWhoseNamesAreOnDiskAreKnown(t *testing.T) {
	in(t, "bucket/a/b/object")

	var f folders
	since := f.age()
	if f.has(since, "bucket/a/b") {
		t.Error("a new folder is known, want it to be synced")
	}
	if err := f.syncName(since, "bucket", "a/b/object"); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{".", "bucket", "bucket/a", "bucket/a/b"} {
		if !f.has(since, path) {
			t.Errorf("%s is not known, want the names of all folders on disk", path)
		}
	}
	if f.has(since, "bucket/a/b/object") {
		t.Error("an object is known, want folders only")
	}
}

// A folder may be removed with its last object and made again. Until that is synced, its name is not on disk.
func TestDeletionsForgetFolders(t *testing.T) {
	in(t, "bucket/a/object")

	var f folders
	before := f.age()
	if err := f.syncName(before, "bucket", "a/object"); err != nil {
		t.Fatal(err)
	}
	removed := f.remove()
	during := f.age()
	if err := f.syncName(during, "bucket", "a/object"); err != nil {
		t.Fatal(err)
	}
	if f.has(during, "bucket/a") {
		t.Error("a folder is known while something is deleted, want none")
	}

	removed()
	for _, since := range []int{before, during, f.age()} {
		if f.has(since, "bucket/a") {
			t.Errorf("a folder from before a deletion is known to what began at %d, want none", since)
		}
	}
	if err := f.syncName(before, "bucket", "a/object"); err != nil {
		t.Fatal(err)
	}
	if f.has(f.age(), "bucket/a") {
		t.Error("what began before a deletion made a folder known, want it not to")
	}
	if err := f.syncName(f.age(), "bucket", "a/object"); err != nil {
		t.Fatal(err)
	}
	if !f.has(f.age(), "bucket/a") {
		t.Error("the folder is not known again, want it to be")
	}
}
