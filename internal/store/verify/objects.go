package verify

import (
	"context"
	"slices"
	"strings"

	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
)

// RunObjects verifies the objects of one run and all objects that they reference, directly or not. The error wraps
// store.ErrNotFound if there is no such run.
func RunObjects(ctx context.Context, b store.Bucket, run string) (Report, error) {
	if _, err := runs.Run(run).Find(ctx, b); err != nil {
		return Report{}, err
	}
	objects, err := b.List(ctx, runs.Run(run).Prefix())
	if err != nil {
		return Report{}, err
	}
	r := Report{Unreferenced: []string{}, Problems: []Problem{}}
	sums := map[string]string{} // of the bytes, by key
	var refs []named
	visit := func(key string) error {
		raw, err := b.Get(ctx, key)
		if err != nil {
			return err
		}
		r.Objects, r.Bytes = r.Objects+1, r.Bytes+int64(len(raw))
		sum, found, why := inspect(key, raw)
		sums[key], refs = sum, append(refs, found...)
		if why != "" {
			r.Problems = append(r.Problems, Problem{Key: key, Detail: why})
		}

		return nil
	}

	for _, o := range objects {
		if err := visit(o.Key); err != nil {
			return r, err
		}
	}
	for i := 0; i < len(refs); i++ { // visits append the references that they find
		x := refs[i]
		if _, seen := sums[x.ref.Key]; !seen {
			if err := visit(x.ref.Key); isMissing(err) {
				sums[x.ref.Key] = ""
			} else if err != nil {
				return r, err
			}
		}
		if why := x.problem(sums[x.ref.Key]); why != "" {
			r.Problems = append(r.Problems, Problem{Key: x.ref.Key, Detail: why})
		}
	}
	slices.SortFunc(r.Problems, func(x, y Problem) int { return strings.Compare(x.String(), y.String()) })
	r.Problems = slices.Compact(r.Problems)

	return r, nil
}
