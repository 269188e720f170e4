// Package disk reports the free space of a disk, reads files up to a size, and writes files that stay below their
// folder.
package disk

import (
	"os"
	"path/filepath"
	"syscall"

	"github.com/collabui/collabui/fault"
)

// Free returns the free bytes on the disk of a folder, which need not exist yet.
func Free(folder string) (uint64, error) {
	for {
		_, err := os.Stat(folder)
		above := filepath.Dir(folder)
		if err == nil || above == folder {
			break
		}
		folder = above
	}
	var st syscall.Statfs_t
	if err := syscall.Statfs(folder, &st); err != nil {
		return 0, fault.New(fault.Transient, "look at the disk of %s: %w", folder, err)
	}

	return st.Bavail * uint64(st.Bsize), nil
}

// Room returns an invalid fault if fewer than need bytes are free on the disk of a folder, which need not exist yet.
func Room(folder string, need uint64) error {
	free, err := Free(folder)
	if err == nil && free < need {
		err = fault.New(fault.Invalid, "the disk of %s has %.1f GB left, and %.1f GB are needed: free some space, "+
			"or choose a folder on another disk", folder, float64(free)/1e9, float64(need)/1e9)
	}

	return err
}
