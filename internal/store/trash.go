package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// TrashPrefix is the prefix of objects that a collection has removed. They stay there for a while before they are gone
// for good: reading a blob restores it, and people restore objects that they miss.
const TrashPrefix = "trash/"

// TrashKey returns the key to which a collection, by its number, moves an object. Each collection has keys of its own,
// so that a slow collection does not touch objects that a later one has removed, and a run never meets the objects of
// an earlier run of its name.
func TrashKey(key string, collection int) string {
	return fmt.Sprintf("%s%s/%06d", TrashPrefix, key, collection)
}

// TrashOf returns the original key of an object in the trash, and the number of the collection that put it there.
func TrashOf(trashKey string) (key string, collection int, ok bool) {
	rest, found := strings.CutPrefix(trashKey, TrashPrefix)
	i := strings.LastIndexByte(rest, '/')
	if !found || i < 0 {
		return "", 0, false
	}
	n, err := strconv.Atoi(rest[i+1:])

	return rest[:i], n, err == nil
}

// GetTrashed reads the newest copy of an object in the trash. The error wraps ErrNotFound if there is no copy.
func GetTrashed(ctx context.Context, bucket Bucket, key string) ([]byte, error) {
	copies, err := Keys(ctx, bucket, TrashPrefix+key+"/")
	if err != nil {
		return nil, err
	}
	if len(copies) == 0 {
		return nil, fmt.Errorf("%s: %w", key, ErrNotFound)
	}

	return bucket.Get(ctx, copies[len(copies)-1])
}

// fromTrash restores a blob from the trash after an error that reports it missing, and otherwise returns that error.
func fromTrash(ctx context.Context, bucket Bucket, key string, missing error) error {
	keeper, ok := bucket.(Keeper)
	if !ok || !errors.Is(missing, ErrNotFound) {
		return missing
	}
	copies, err := Keys(ctx, bucket, TrashPrefix+key+"/")
	for i := len(copies) - 1; i >= 0 && err == nil; i-- {
		err = keeper.Copy(ctx, copies[i], key)
		if err == nil {
			return nil
		}
		if errors.Is(err, ErrNotFound) { // it has been removed for good meanwhile
			err = nil
		}
	}
	if err != nil {
		return fmt.Errorf("get %s back from the trash: %w", key, err)
	}

	return missing
}
