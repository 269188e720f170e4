// Package verify reads the store and nothing else: fsck verifies every object's bytes and references, the validators verify what a run promises.
package verify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/collabui/collabui/internal/store"
)

// Problem is one thing that is wrong, and the object that has it.
type Problem struct {
	Key    string `json:"key"`
	Detail string `json:"detail"`
}

// Report of an fsck.
type Report struct {
	Objects      int       `json:"objects"`
	Bytes        int64     `json:"bytes"`
	Unreferenced []string  `json:"unreferenced"` // whole, but no manifest names them
	Problems     []Problem `json:"problems"`
}

// parts are objects that some manifest must name, or they are left over: of a void attempt, or of one that was never committed. Everything else under
// runs/ stands for itself: specifications, claims of attempts, checkpoints, evaluations, commits.
var parts = regexp.MustCompile(`/(steps/\d+|episode|credit|pairs|dataset|update|topology|slots)\.json$`)

func root(key string) bool { return strings.HasPrefix(key, "runs/") && !parts.MatchString(key) }

// Fsck lists the whole store; every object is verified, or reported as unreferenced.
func Fsck(ctx context.Context, b store.Bucket) (Report, error) {
	objects, err := b.List(ctx, "")
	if err != nil {
		return Report{}, err
	}
	r := Report{Objects: len(objects), Unreferenced: []string{}, Problems: []Problem{}}
	have := map[string]string{} // key → hash of its bytes
	var refs []named
	var failed error // the store did not answer: that says nothing about the object
	var mu sync.Mutex
	var wg sync.WaitGroup
	next := make(chan store.Ref, len(objects))
	for _, o := range objects {
		r.Bytes += o.Size
		next <- o
	}
	close(next)
	for range 8 {
		wg.Go(func() {
			for o := range next {
				sum, found, why, err := check(ctx, b, o.Key)
				mu.Lock()
				failed = errors.Join(failed, err)
				have[o.Key] = sum
				refs = append(refs, found...)
				if why != "" {
					r.Problems = append(r.Problems, Problem{o.Key, why})
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if failed != nil {
		return r, failed
	}
	used := map[string]bool{}
	for _, x := range refs {
		used[x.ref.Key] = true
		if why := x.problem(have[x.ref.Key]); why != "" {
			r.Problems = append(r.Problems, Problem{x.ref.Key, why})
		}
	}
	for _, o := range objects {
		if !used[o.Key] && !root(o.Key) {
			r.Unreferenced = append(r.Unreferenced, o.Key)
		}
	}
	slices.SortFunc(r.Problems, func(x, y Problem) int { return strings.Compare(x.Key+x.Detail, y.Key+y.Detail) })
	r.Problems = slices.CompactFunc(r.Problems, func(x, y Problem) bool { return x == y })
	return r, ctx.Err()
}

// named is a reference and the object that contains it.
type named struct {
	by  string
	ref store.Ref
}

// problem says what is wrong with a reference to bytes with the given hash; the empty hash means that they are missing.
func (n named) problem(sum string) string {
	switch sum {
	case "":
		return "missing; named by " + n.by
	case n.ref.SHA256:
		return ""
	}

	return "not the bytes that " + n.by + " names"
}

func isMissing(err error) bool { return errors.Is(err, store.ErrNotFound) }

// check reads and inspects one object.
func check(ctx context.Context, b store.Bucket, key string) (sum string, refs []named, why string, err error) {
	raw, err := b.Get(ctx, key)
	if isMissing(err) {
		return "", nil, "it was listed, and is gone", nil
	}
	if err != nil {
		return "", nil, "", err
	}
	sum, refs, why = inspect(key, raw)

	return sum, refs, why, nil
}

// inspect verifies the bytes of one object. It returns their hash, the references in them, and what is wrong.
func inspect(key string, raw []byte) (sum string, refs []named, why string) {
	sum = store.Sum(raw)
	if store.IsBlob(key) {
		if key != store.BlobPrefix+sum {
			why = "the bytes do not have the hash that names them"
		}

		return sum, nil, why
	}
	body, err := store.Unseal(key, raw)
	if err != nil {
		return sum, nil, err.Error()
	}
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		return sum, nil, err.Error()
	}
	walk(v, func(r store.Ref) { refs = append(refs, named{key, r}) })

	return sum, refs, ""
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

func (p Problem) String() string { return fmt.Sprintf("%s: %s", p.Key, p.Detail) }
