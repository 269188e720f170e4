package verify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
)

// Report is the result of Fsck or FsckRun.
type Report struct {
	Objects      int       `json:"objects"`
	Bytes        int64     `json:"bytes"`
	Unreferenced []string  `json:"unreferenced"` // intact, but no manifest refers to them
	Problems     []Problem `json:"problems"`
}

// Fsck verifies every object of the store and every reference between them. An error means that the store did not
// answer, which says nothing about its objects.
func Fsck(ctx context.Context, b store.Bucket) (Report, error) {
	objects, err := b.List(ctx, "")
	if err != nil {
		return Report{}, err
	}
	c := newChecker(b)
	if err := c.check(ctx, keys(objects)); err != nil {
		return Report{}, err
	}

	return c.report(objects), ctx.Err()
}

// FsckRun verifies the objects of one run and all objects that they refer to, directly or not. The error wraps
// store.ErrNotFound if there is no such run.
func FsckRun(ctx context.Context, b store.Bucket, run string) (Report, error) {
	objects, err := b.List(ctx, runs.Run(run).Prefix())
	if err != nil {
		return Report{}, err
	}
	if len(objects) == 0 {
		return Report{}, fmt.Errorf("run %q: %w", run, store.ErrNotFound)
	}

	c := newChecker(b)
	for next := keys(objects); len(next) > 0; next = c.unread() {
		if err := c.check(ctx, next); err != nil {
			return Report{}, err
		}
	}

	return c.report(objects), ctx.Err()
}

func keys(objects []store.Ref) []string {
	out := make([]string, len(objects))
	for i, o := range objects {
		out[i] = o.Key
	}

	return out
}

// checker reads objects and collects their references.
type checker struct {
	b store.Bucket

	mu       sync.Mutex
	objects  map[string]object // objects that were read, by key
	refs     []reference
	problems []Problem
}

// object is what was read under a key.
type object struct {
	sum     string
	size    int64
	missing bool
}

// reference is a reference and the object that contains it.
type reference struct {
	by  string
	ref store.Ref
}

func newChecker(b store.Bucket) *checker {
	return &checker{b: b, objects: map[string]object{}, problems: []Problem{}}
}

// check reads and verifies objects, some of them concurrently.
func (c *checker) check(ctx context.Context, keys []string) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(8)
	for _, key := range keys {
		g.Go(func() error {
			raw, err := c.b.Get(ctx, key)
			missing := errors.Is(err, store.ErrNotFound)
			if err != nil && !missing {
				return err
			}

			o := object{missing: missing, sum: store.Sum(raw), size: int64(len(raw))}
			var refs []store.Ref
			var problem error
			if !missing {
				refs, problem = inspect(key, raw, o.sum)
			}
			c.add(key, o, refs, problem)

			return nil
		})
	}

	return g.Wait()
}

func (c *checker) add(key string, o object, refs []store.Ref, problem error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.objects[key] = o
	for _, r := range refs {
		c.refs = append(c.refs, reference{by: key, ref: r})
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
		if _, ok := c.objects[r.ref.Key]; !ok {
			out = append(out, r.ref.Key)
		}
	}
	slices.Sort(out)

	return slices.Compact(out)
}

// report compares references with what was read. The listed objects are those that should exist.
func (c *checker) report(listed []store.Ref) Report {
	used := map[string]bool{}
	for _, r := range c.refs {
		used[r.ref.Key] = true
		switch o, ok := c.objects[r.ref.Key]; {
		case !ok || o.missing:
			c.say(r.ref.Key, "missing; named by "+r.by)
		case o.sum != r.ref.SHA256:
			c.say(r.ref.Key, "not the bytes that "+r.by+" names")
		}
	}

	out := Report{Unreferenced: []string{}}
	for _, l := range listed {
		if c.objects[l.Key].missing {
			c.say(l.Key, "it was listed, and is gone")
		}
		if !used[l.Key] && !runs.NeedsNoReference(l.Key) {
			out.Unreferenced = append(out.Unreferenced, l.Key)
		}
	}
	for _, o := range c.objects {
		if !o.missing {
			out.Objects, out.Bytes = out.Objects+1, out.Bytes+o.size
		}
	}
	slices.SortFunc(c.problems, func(x, y Problem) int { return strings.Compare(x.String(), y.String()) })
	out.Problems = slices.Compact(c.problems)

	return out
}

// inspect verifies the bytes of one object and returns the references in them. The error says what is wrong.
func inspect(key string, raw []byte, sum string) ([]store.Ref, error) {
	if store.IsBlob(key) {
		if key != store.BlobPrefix+sum {
			return nil, errors.New("the bytes do not have the hash that names them")
		}

		return nil, nil
	}
	body, err := store.Unseal(key, raw)
	if err != nil {
		return nil, err
	}
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		return nil, err
	}
	var refs []store.Ref
	walk(v, func(r store.Ref) { refs = append(refs, r) })

	return refs, nil
}

// walk finds references: objects with key and sha256, and policies, which are named by the digest of their blob.
func walk(v any, f func(store.Ref)) {
	switch x := v.(type) {
	case map[string]any:
		key, _ := x["key"].(string)
		sum, _ := x["sha256"].(string)
		if key != "" && sum != "" {
			f(store.Ref{Key: key, SHA256: sum})
		}
		if d, _ := x["digest"].(string); len(d) == 64 && x["tensor_digest"] != nil {
			f(store.Ref{Key: store.BlobPrefix + d, SHA256: d})
		}
		for _, y := range x {
			walk(y, f)
		}
	case []any:
		for _, y := range x {
			walk(y, f)
		}
	}
}
