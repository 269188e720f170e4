package main

import (
	"fmt"
	"path/filepath"
	"sync"
)

// folders remembers the folders whose names are on disk, so that not every object syncs all folders above it. What it
// remembers is valid only while nothing is deleted, because deleting an object also removes the folders that become
// empty.
type folders struct {
	sync func(path string) error

	mu       sync.Mutex
	known    map[string]bool
	deletes  int // begun or ended so far
	deleting int // in progress
}

// maxFolders bounds the number of remembered folders. Beyond it, all are forgotten.
const maxFolders = 1 << 16

// age returns a number by which syncName detects deletions since this call.
func (f *folders) age() int {
	f.mu.Lock()
	defer f.mu.Unlock()

	return f.deletes
}

// remove forgets all folders. They stay forgotten until the returned function is called, after the deletion.
func (f *folders) remove() (removed func()) {
	change := func(n int) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.deletes++
		f.deleting += n
		f.known = nil
	}
	change(1)

	return func() { change(-1) }
}

// syncName syncs the metadata and the name of an object written since age, and the names of its folders unless they are
// known to be on disk. All paths are relative to the backend's root, which is the working directory.
func (f *folders) syncName(since int, bucket, key string) error {
	object := filepath.Join(bucket, key)
	var synced []string
	for path := object; ; path = filepath.Dir(path) {
		if err := f.sync(path); err != nil {
			return fmt.Errorf("sync %s: %w", path, err)
		}
		if path != object {
			synced = append(synced, path)
		}
		if path == "." || path != object && f.has(since, path) {
			break
		}
	}
	f.add(since, synced)

	return nil
}

// has reports whether the name of a folder is known to be on disk.
func (f *folders) has(since int, path string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()

	return f.deletes == since && f.deleting == 0 && f.known[path]
}

// add records that the names of folders are on disk, unless something was deleted since.
func (f *folders) add(since int, paths []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.deletes != since || f.deleting > 0 {
		return
	}
	if f.known == nil || len(f.known) > maxFolders {
		f.known = map[string]bool{}
	}
	for _, path := range paths {
		f.known[path] = true
	}
}
