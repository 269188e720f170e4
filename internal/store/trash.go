package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// TrashPrefix is the prefix of objects that a collection has removed. They stay there for a while before they are gone
// for good: a blob comes back when it is read, and people take back what they miss.
const TrashPrefix = "trash/"

// TrashKey is where a collection, by its number, puts an object. Each collection has keys of its own, so that no slow
// collection touches what a later one has removed, and a run never meets the objects of an earlier run of its name.
func TrashKey(key string, collection int) string {
	return fmt.Sprintf("%s%s/%06d", TrashPrefix, key, collection)
}

// TrashOf returns which object is under a key of the trash, and the number of the collection that put it there.
func TrashOf(trashKey string) (key string, collection int, ok bool) {
	rest, found := strings.CutPrefix(trashKey, TrashPrefix)
	i := strings.LastIndexByte(rest, '/')
	if !found || i < 0 {
		return "", 0, false
	}
	n, err := strconv.Atoi(rest[i+1:])

	return rest[:i], n, err == nil
}

// GetTrashed reads the newest copy of an object in the trash. The error wraps ErrNotFound if there is none.
func GetTrashed(ctx context.Context, b Bucket, key string) ([]byte, error) {
	copies, err := Keys(ctx, b, TrashPrefix+key+"/")
	if err != nil {
		return nil, err
	}
	if len(copies) == 0 {
		return nil, fmt.Errorf("%s: %w", key, ErrNotFound)
	}

	return b.Get(ctx, copies[len(copies)-1])
}

// fromTrash takes a blob back from the trash, after an error that says that it is missing, and returns that error
// otherwise.
func fromTrash(ctx context.Context, b Bucket, key string, missing error) error {
	keeper, ok := b.(Keeper)
	if !ok || !errors.Is(missing, ErrNotFound) {
		return missing
	}
	copies, err := Keys(ctx, b, TrashPrefix+key+"/")
	for i := len(copies) - 1; i >= 0 && err == nil; i-- {
		err = keeper.Copy(ctx, copies[i], key)
		if err == nil {
			return nil
		}
		if errors.Is(err, ErrNotFound) { // it has just been removed for good
			err = nil
		}
	}
	if err != nil {
		return fmt.Errorf("get %s back from the trash: %w", key, err)
	}

	return missing
}
