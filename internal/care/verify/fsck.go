package verify

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// Report is the result of Fsck or FsckRun.
type Report struct {
	Objects      int       `json:"objects"`
	Bytes        int64     `json:"bytes"`
	Unreferenced []string  `json:"unreferenced"`      // intact, but no manifest refers to them
	Retired      int       `json:"retired,omitempty"` // blobs that are named, and that a retention policy removed
	Missing      []string  `json:"missing,omitempty"` // objects among the problems that are named and do not exist
	Problems     []Problem `json:"problems"`
}

// Fsck verifies every object of the store and every reference between them. An error means that the store did not
// answer, and implies nothing about its objects.
func Fsck(ctx context.Context, bucket store.Bucket) (Report, error) {
	objects, err := bucket.List(ctx, "")
	if err != nil {
		return Report{}, err
	}
	objects = slices.DeleteFunc(objects, func(ref store.Ref) bool {
		return strings.HasPrefix(ref.Key, store.TrashPrefix)
	})
	c := newChecker(bucket)
	if err := c.check(ctx, keys(objects)); err != nil {
		return Report{}, err
	}
	if err := c.check(ctx, c.unread()); err != nil { // missing objects may be in the trash
		return Report{}, err
	}

	return c.finish(ctx, objects)
}

// finish returns the report.
func (c *checker) finish(ctx context.Context, listed []store.Ref) (Report, error) {
	retired, err := runs.Retired(ctx, c.b)
	if err != nil {
		return Report{}, err
	}

	return c.report(listed, retired), ctx.Err()
}

// get reads an object, or its copy in the trash, as readers that follow a reference would.
func (c *checker) get(ctx context.Context, key string) ([]byte, error) {
	raw, err := c.b.Get(ctx, key)
	if errors.Is(err, store.ErrNotFound) && store.IsBlob(key) {
		raw, err = store.GetTrashed(ctx, c.b, key)
	}

	return raw, err
}

// FsckRun verifies the objects of one run and all objects that they refer to, directly or not. The error wraps
// store.ErrNotFound if there is no such run.
func FsckRun(ctx context.Context, bucket store.Bucket, run string) (Report, error) {
	objects, err := bucket.List(ctx, runs.Run(run).Prefix())
	if err != nil {
		return Report{}, err
	}
	if len(objects) == 0 {
		return Report{}, fmt.Errorf("run %q: %w", run, store.ErrNotFound)
	}

	c := newChecker(bucket)
	for next := keys(objects); len(next) > 0; next = c.unread() {
		if err := c.check(ctx, next); err != nil {
			return Report{}, err
		}
	}

	return c.finish(ctx, objects)
}

func keys(objects []store.Ref) []string {
	out := make([]string, len(objects))
	for i, ref := range objects {
		out[i] = ref.Key
	}

	return out
}

// checker reads objects and collects their references. It keeps some hundred bytes of each object, never its body.
type checker struct {
	b store.Bucket

	mu       sync.Mutex
	objects  map[string]object // objects that were read, by key
	refs     []reference
	problems []Problem
}

// object describes the object that was read under a key.
type object struct {
	sum     [sha256.Size]byte
	size    int64
	missing bool
}

// reference is a reference and the object that contains it.
type reference struct {
	by, key string
	sum     [sha256.Size]byte
}

func newChecker(bucket store.Bucket) *checker {
	return &checker{b: bucket, objects: map[string]object{}, problems: []Problem{}}
}

// parallel is the number of objects that are read concurrently.
const parallel = 16

// check reads and verifies objects, some of them concurrently.
func (c *checker) check(ctx context.Context, keys []string) error {
	c.mu.Lock()
	for _, key := range keys { // so that references share the memory of their keys
		c.objects[key] = object{missing: true}
	}
	c.mu.Unlock()

	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for _, key := range keys {
		group.Go(func() error {
			raw, err := c.get(ctx, key)
			missing := errors.Is(err, store.ErrNotFound)
			if err != nil && !missing {
				return err
			}

			o := object{missing: missing, sum: sha256.Sum256(raw), size: int64(len(raw))}
			var refs []reference
			var problem error
			if !missing {
				refs, problem = inspect(key, raw, o.sum)
			}
			c.add(key, o, refs, problem)

			return nil
		})
	}

	return group.Wait()
}
func (c *checker) add(key string, o object, refs []reference, problem error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.objects[key] = o
	for _, r := range refs {
		r.by = key
		c.refs = append(c.refs, r)
	}
	if problem != nil {
		c.say(key, problem.Error())
	}
}

func (c *checker) say(key, detail string) {
	c.problems = append(c.problems, Problem{Key: key, Detail: detail})
}

// unread returns the keys of objects that are referred to and were not read.
func (c *checker) unread() []string {
	var out []string
	for _, r := range c.refs {
		if _, ok := c.objects[r.key]; !ok {
			out = append(out, r.key)
		}
	}
	slices.Sort(out)

	return slices.Compact(out)
}

// report compares references with the objects that were read. The listed objects are those that should exist.
func (c *checker) report(listed []store.Ref, retired map[string]bool) Report {
	used := make(map[string]bool, len(c.refs))
	gone := map[string]bool{}
	missing := map[string]bool{}
	copied := make(map[[sha256.Size]byte]bool, len(c.refs)) // references to a fork's copy also count for the original
	for _, r := range c.refs {
		used[r.key] = true
		copied[r.sum] = true
		switch o, ok := c.objects[r.key]; {
		case (!ok || o.missing) && retired[strings.TrimPrefix(r.key, store.BlobPrefix)]:
			gone[r.key] = true
		case !ok || o.missing:
			missing[r.key] = true
			c.say(r.key, "missing; named by "+r.by)
		case o.sum != r.sum:
			c.say(r.key, "not the bytes that "+r.by+" names")
		}
	}

	out := Report{Unreferenced: []string{}, Retired: len(gone), Missing: slices.Sorted(maps.Keys(missing))}
	for _, ref := range listed {
		if c.objects[ref.Key].missing {
			c.say(ref.Key, "it was listed, and is gone")
		}
		if !used[ref.Key] && !copied[c.objects[ref.Key].sum] && !runs.NeedsNoReference(ref.Key) {
			out.Unreferenced = append(out.Unreferenced, ref.Key)
		}
	}
	for _, o := range c.objects {
		if !o.missing {
			out.Objects++
			out.Bytes += o.size
		}
	}
	slices.SortFunc(c.problems, func(problem, y Problem) int { return strings.Compare(problem.String(), y.String()) })
	out.Problems = slices.Compact(c.problems)

	return out
}

// Inspect verifies the bytes of one object and returns the keys of the objects that it refers to. The error describes
// the damage.
func Inspect(key string, raw []byte) ([]string, error) {
	refs, err := inspect(key, raw, sha256.Sum256(raw))
	out := make([]string, len(refs))
	for i, r := range refs {
		out[i] = r.key
	}

	return out, err
}

// inspect verifies the bytes of one object and returns the references in them. The error describes the damage.
func inspect(key string, raw []byte, sum [sha256.Size]byte) ([]reference, error) {
	if store.IsBlob(key) {
		if key != store.BlobPrefix+hex.EncodeToString(sum[:]) {
			return nil, errors.New("the bytes do not have the hash that names them")
		}
		if _, err := domain.DecodeArtifact(head(raw)); err == nil { // a policy of several files, which are blobs
			return references(raw), nil
		}

		return nil, nil
	}
	body, err := store.Unseal(key, raw)
	if err == nil && !json.Valid(body) {
		err = errors.New("its body is not JSON")
	}
	refs := references(body)
	if runs.IsSpec(key) && err == nil {
		refs = append(refs, named(body)...)
	}

	return refs, err
}

// maxArtifact exceeds the size of any artifact's list of files.
const maxArtifact = 1 << 20

// head returns bytes that may be an artifact, and of anything else only enough to rule that out.
func head(raw []byte) []byte {
	if !IsArtifact(raw) || len(raw) > maxArtifact {
		return nil
	}

	return raw
}

// IsArtifact reports whether a blob that begins with these bytes may be a policy in the form of a list of files.
func IsArtifact(beginning []byte) bool { return bytes.HasPrefix(beginning, []byte(`{"kind":"`)) }
