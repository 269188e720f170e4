package store

import (
	"errors"

	"github.com/collabui/collabui/fault"
)

// ErrAbsent means that the store does not show an object that must exist. A store that promises read-after-write never
// does that, but one that has just failed over, a bucket that is being restored and a caching proxy may, and show it
// again later. An object that stays away was removed: it may be in the trash, in a copy, or in the bucket's versions.
var ErrAbsent = errors.New("the store does not show it, although it must exist: try again. If it stays away, " +
	"`collabui fsck` lists what is missing, and `collabui delete --undo --missing` takes it back from the trash or " +
	"from the versions of the bucket; a copy of the store may have it, too. Delete nothing that refers to it")

// absent returns the fault for an object that must exist but is not shown.
func absent(key string) error { return fault.New(fault.Transient, "%s: %w", key, ErrAbsent) }

// mustExist turns the error of reading an object that must exist into that fault, if the store does not show the
// object.
func mustExist(key string, err error) error {
	if errors.Is(err, ErrNotFound) {
		return absent(key)
	}

	return err
}
