package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
)

// promisePrefix is the prefix of the objects by which Promises tries a store. None stays.
const promisePrefix = "tried/"

// Promises tries what a store must promise, by a small object of its own that it removes, and says what is not kept: an
// object is there for every reader as soon as it is written, lists have it, and If-None-Match keeps a second writer
// out. It is empty if all is kept. One try finds a store that never keeps a promise, not one that seldom breaks it.
func Promises(ctx context.Context, b Keeper) (broken string, err error) {
	key := promisePrefix + rand.Text() + ".json"
	written, _, first, err := WriteOnce(ctx, b, key, "first")
	if err != nil {
		return "", err
	}
	defer func() {
		err = errors.Join(err, b.Delete(context.WithoutCancel(ctx), key))
	}()
	if !first || written != "first" {
		return "a new object is said to exist already", nil
	}

	read, there, err := May[string](ctx, b, key)
	if err != nil {
		return "", err
	}
	if !there || read != "first" {
		return "an object is not there as soon as it is written", nil
	}
	listed, err := b.List(ctx, promisePrefix)
	if err != nil {
		return "", err
	}
	shown := false
	for _, o := range listed {
		shown = shown || o.Key == key
	}
	if !shown {
		return "a list lacks an object that was written before", nil
	}
	body, err := Seal("second")
	if err != nil {
		return "", err
	}
	over, err := b.PutOnce(ctx, key, body)
	if err != nil {
		return "", err
	}
	if read, _, err = May[string](ctx, b, key); err == nil && (over || read != "first") {
		return fmt.Sprintf("If-None-Match is not honoured: a second writer replaced %s", key), nil
	}

	return "", err
}
