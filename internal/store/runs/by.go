package runs

import (
	"context"

	"github.com/collabui/collabui/internal/store"
)

// By identifies the run that made a record among all runs of its name: the name of a deleted run is free, and one of
// its workers may not know that. No digest depends on it.
type By struct {
	Tag string `json:"by,omitempty"`
}

// By returns what the records of the run contain. It follows from the records of when the run began, and of when it was
// forked. The run has begun.
func (r Run) By(ctx context.Context, b store.Bucket) (By, error) {
	s, err := r.Shared(ctx, b)
	if err != nil {
		return By{}, err
	}
	_, began, err := r.Made(0).Must(ctx, b)
	if err != nil {
		return By{}, err
	}
	var forked store.Ref
	if s != nil {
		if _, forked, err = r.Origin().Must(ctx, b); err != nil {
			return By{}, err
		}
	}

	return By{Digest([]string{began.SHA256, forked.SHA256})[:16]}, nil
}
