package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/versity/versitygw/s3response"
)

// synced is a store, and the paths that it has synced since the last check.
type synced struct {
	*durable

	t     *testing.T
	paths []string
}

func newSynced(t *testing.T) *synced {
	t.Helper()
	t.Chdir(t.TempDir())
	d, err := (&s3Service{root: "."}).open()
	if err != nil {
		t.Fatal(err)
	}
	s := &synced{durable: d, t: t}
	d.folders.sync = func(path string) error {
		s.paths = append(s.paths, path)

		return syncPath(path)
	}
	if err := prepareBucket(t.Context(), d, "b", "key"); err != nil {
		t.Fatal(err)
	}
	s.paths = nil

	return s
}

// put writes an object, and checks the paths that are synced after its bytes.
func (s *synced) put(key string, want ...string) {
	s.t.Helper()
	bucket, length := "b", int64(1)
	if _, err := s.PutObject(s.t.Context(), s3response.PutObjectInput{
		Bucket: &bucket, Key: &key, Body: strings.NewReader("x"), ContentLength: &length,
	}); err != nil {
		s.t.Fatal(err)
	}
	if !slices.Equal(s.paths, want) {
		s.t.Errorf("put %s: synced %q, want %q", key, s.paths, want)
	}
	s.paths = nil
}

func TestAnObjectSyncsTheFoldersThatAreNew(t *testing.T) {
	s := newSynced(t)
	s.put("a/b/1", "b/a/b/1", "b/a/b", "b/a", "b", ".")
	s.put("a/b/2", "b/a/b/2", "b/a/b")
	s.put("a/c/1", "b/a/c/1", "b/a/c", "b/a")
	s.put("1", "b/1", "b")
}

// TestAnObjectSyncsAllFoldersAfterADeletion matters because a deletion removes the folders that become empty, so that
// the next object creates them again.
func TestAnObjectSyncsAllFoldersAfterADeletion(t *testing.T) {
	s := newSynced(t)
	all := []string{"b/a/b/1", "b/a/b", "b/a", "b", "."}
	s.put("a/b/1", all...)
	bucket, key := "b", "a/b/1"
	if _, err := s.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: &bucket, Key: &key}); err != nil {
		t.Fatal(err)
	}
	s.put("a/b/1", all...)
}

// TestNothingIsKnownOfFoldersWhileSomethingIsDeleted matters because a path synced before or during a deletion may
// belong to a removed folder.
func TestNothingIsKnownOfFoldersWhileSomethingIsDeleted(t *testing.T) {
	s := newSynced(t)
	s.put("a/1", "b/a/1", "b/a", "b", ".")
	before := s.folders.age()
	removed := s.folders.remove()
	s.put("a/2", "b/a/2", "b/a", "b", ".")
	s.put("a/3", "b/a/3", "b/a", "b", ".")
	removed()
	if err := s.folders.syncName(before, "b", "a/1"); err != nil {
		t.Fatal(err)
	}
	s.paths = nil
	s.put("a/4", "b/a/4", "b/a", "b", ".")
	s.put("a/5", "b/a/5", "b/a")
}
