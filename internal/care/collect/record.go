package collect

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store"
)

// record is the information that a collection leaves for the next one before it removes anything.
type record struct {
	At        time.Time `json:"at"`        // time of the server when the collection began
	Manifests []byte    `json:"manifests"` // keys of the manifests that it kept, one per line, compressed
	// Missed are manifests that the previous record listed and that neither the LIST nor a read showed.
	Missed []string `json:"missed,omitempty"`
	// Unfinished maps runs without a specification to when a collection first found them.
	Unfinished map[string]time.Time `json:"unfinished,omitempty"`
}

const recordPrefix = "gc/found/"

func recordKey(collection int) string { return fmt.Sprintf("%s%06d.json", recordPrefix, collection) }

// recall reads the record of the previous collection.
func (c *collector) recall(ctx context.Context) error {
	keys, err := store.Keys(ctx, c.b, recordPrefix)
	if err != nil || len(keys) == 0 {
		return err
	}
	c.before, _, err = store.Must[record](ctx, c.b, keys[len(keys)-1])
	if errors.Is(err, store.ErrAbsent) {
		err = fault.New(fault.Transient, "although a LIST shows it, %w: nothing was removed; begin again", err)
	}

	return err
}

// compare looks for the manifests that the previous collection kept and that this collection's LIST does not show. If
// one of them exists, the LIST is incomplete, and nothing can be concluded from its gaps.
func (c *collector) compare(ctx context.Context) error {
	expected, err := unpack(c.before.Manifests)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	look := func(key string, absent func()) {
		if _, listed := c.objects[key]; listed {
			return
		}
		group.Go(func() error {
			exists, err := c.leftOut(gctx, key)
			if err == nil && !exists {
				mu.Lock()
				absent()
				mu.Unlock()
			}

			return err
		})
	}
	for _, key := range c.before.Missed {
		look(key, func() {}) // missing in two collections: the manifest is gone
	}
	for _, key := range expected {
		look(key, func() { c.after.Missed = append(c.after.Missed, key) })
	}
	err = group.Wait()
	slices.Sort(c.after.Missed)

	return err
}

// leftOut reports whether an object exists that the LIST does not show. It returns a transient fault if the object
// existed before the LIST.
func (c *collector) leftOut(ctx context.Context, key string) (bool, error) {
	written, err := c.b.Written(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if written.Before(c.now.Add(-time.Second)) { // times of a server may have no fractions
		return true, fault.New(fault.Transient, "a LIST of the store does not show %s, which is there: nothing was "+
			"removed. Something between here and the store (a proxy, a replica, a disk that heals) does not answer "+
			"truthfully: begin again when it does", key)
	}

	return true, nil
}

// record writes the record of this collection and removes old ones.
func (c *collector) record(ctx context.Context) error {
	if c.lock == nil {
		return nil
	}
	var manifests []string
	for _, key := range c.order {
		if !store.IsBlob(key) && !own(key) && !c.isRemoved(key) {
			manifests = append(manifests, key)
		}
	}
	var err error
	c.after.At = c.now
	if c.after.Manifests, err = pack(manifests); err != nil {
		return err
	}
	if _, _, _, err := store.WriteOnce(ctx, c.b, recordKey(c.lock.Number), c.after); err != nil {
		return err
	}
	keys, err := store.Keys(ctx, c.b, recordPrefix)
	if err != nil {
		return err
	}
	for _, key := range keys[:max(0, len(keys)-2)] {
		if err := c.b.Delete(ctx, key); err != nil {
			return err
		}
	}

	return nil
}

// pack compresses keys.
func pack(keys []string) ([]byte, error) {
	var out bytes.Buffer
	writer := gzip.NewWriter(&out)
	_, err := io.WriteString(writer, strings.Join(keys, "\n"))
	err = errors.Join(err, writer.Close())

	return out.Bytes(), fault.As(fault.Fatal, err)
}

// unpack returns the keys that pack compressed.
func unpack(packed []byte) ([]string, error) {
	if len(packed) == 0 {
		return nil, nil
	}
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fault.As(fault.Corrupt, err)
	}
	raw, err := io.ReadAll(reader)
	if err != nil {
		return nil, fault.As(fault.Corrupt, err)
	}

	return strings.FieldsFunc(string(raw), func(c rune) bool { return c == '\n' }), nil
}
