package transfer

import (
	"context"
	"errors"
	"slices"

	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// withOrigins returns the names of runs, each after the runs with which it shares objects, because a fork cannot be
// read without them.
func (t *transfer) withOrigins(ctx context.Context, names []string) (out []string, err error) {
	for _, name := range names {
		shared, err := runs.Run(name).Shared(ctx, t.from)
		if err != nil && !errors.Is(err, store.ErrNotFound) { // if so, its copy reports it
			return nil, err
		}
		if shared != nil {
			for _, part := range shared.Parts {
				out = append(out, string(part.Run))
			}
		}
		out = append(out, name)
	}
	seen := map[string]bool{}

	return slices.DeleteFunc(out, func(name string) bool {
		duplicate := seen[name]
		seen[name] = true

		return duplicate
	}), nil
}
