package simulation

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/collabui/collabui/internal/store"
)

// disk holds the objects of a simulated S3 server, with all versions that ever existed.
type disk struct {
	mu        sync.Mutex
	objects   map[string][]version // oldest first
	writes    int
	ahead     time.Duration    // difference between the server's clock and the workers'
	versioned bool             // lists show versions
	removing  func(key string) // called before an object is removed; may be nil
}

// version is a version of an object.
type version struct {
	number int // counts all writes of the disk
	at     time.Time
	body   []byte // nil if it was removed
}

// put writes an object; nil removes it.
func (d *disk) put(key string, body []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.write(key, body)
}

// write is put for callers that hold the lock.
func (d *disk) write(key string, body []byte) {
	if d.objects == nil {
		d.objects = map[string][]version{}
	}
	d.writes++
	d.objects[key] = append(d.objects[key], version{d.writes, time.Now(), body})
}

// putOnce writes an object unless the key is taken, and reports whether it did.
func (d *disk) putOnce(key string, body []byte) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if newest(d.objects[key]).body != nil {
		return false
	}
	d.write(key, body)

	return true
}

// remove removes an object.
func (d *disk) remove(key string) {
	if d.removing != nil {
		d.removing(key)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if newest(d.objects[key]).body != nil {
		d.write(key, nil)
	}
}

// newest returns the last of some versions, or a version without a body.
func newest(all []version) version {
	if len(all) == 0 {
		return version{}
	}

	return all[len(all)-1]
}

// get returns the version that an object had the given time ago. It has no body if there was no such object.
func (d *disk) get(key string, ago time.Duration) version {
	d.mu.Lock()
	defer d.mu.Unlock()

	return d.asOf(key, ago)
}

// asOf is get for callers that hold the lock.
func (d *disk) asOf(key string, ago time.Duration) version {
	all := d.objects[key]
	if ago > 0 {
		until := time.Now().Add(-ago)
		all = all[:len(all)-trailing(all, func(v version) bool { return v.at.After(until) })]
	}

	return newest(all)
}

// trailing returns the number of versions at the end for which f is true.
func trailing(all []version, f func(version) bool) (n int) {
	for _, v := range slices.Backward(all) {
		if !f(v) {
			break
		}
		n++
	}

	return n
}

// version returns a version of an object by its number.
func (d *disk) version(key, number string) version {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, v := range d.objects[key] {
		if strconv.Itoa(v.number) == number {
			return v
		}
	}

	return version{}
}

// entry is an object in a list, or one of its versions.
type entry struct {
	key string
	version
	latest bool // it is the newest version
}

// history returns all versions of the objects under a prefix, the newest of each key first.
func (d *disk) history(prefix string) (out []entry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(d.objects)) {
		if !strings.HasPrefix(key, prefix) {
			continue
		}
		for i, v := range slices.Backward(d.objects[key]) {
			out = append(out, entry{key, v, i == len(d.objects[key])-1})
		}
	}

	return out
}

// list returns the objects under a prefix as they were the given time ago, in lexical order.
func (d *disk) list(prefix string, ago time.Duration) []entry {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []entry
	for key := range d.objects {
		if !strings.HasPrefix(key, prefix) {
			continue
		}
		if v := d.asOf(key, ago); v.body != nil {
			out = append(out, entry{key, v, true})
		}
	}
	slices.SortFunc(out, func(a, b entry) int { return strings.Compare(a.key, b.key) })

	return out
}

// written returns when an object was written, by the server's clock.
func (d *disk) written(v version) time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()

	return v.at.Add(d.ahead)
}

// setBack resets all objects to their state after a number of writes, on all replicas. It counts as one write.
func (d *disk) setBack(writes int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.writes++
	for key, all := range d.objects {
		before := all[:len(all)-trailing(all, func(v version) bool { return v.number > writes })]
		if len(before) < len(all) {
			d.objects[key] = append(before, version{d.writes, time.Now(), newest(before).body})
		}
	}
}

// copied returns the objects of the disk in memory.
func (d *disk) copied(ctx context.Context) *store.Memory {
	memory := &store.Memory{}
	for _, o := range d.list("", 0) {
		_, _ = memory.PutOnce(ctx, o.key, o.body) // cannot fail in memory
	}

	return memory
}
