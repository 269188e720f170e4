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

// Identify reads the specification of a run, and returns what no other run of its name has: the digests of the
// specification, of the record that says when the run began, and of a fork's origin. It returns no identity before the
// run has begun, because an earlier run of the name may have had the same specification.
func (r Run) Identify(ctx context.Context, b store.Bucket) (Forked, string, error) {
	s, ref, err := r.Forked().Must(ctx, b)
	if err != nil {
		return s, "", err
	}
	begun, began, err := r.Made(0).May(ctx, b)
	if err != nil {
		return s, "", err
	}
	identity := ref.SHA256 + Digest(begun)
	if s.Shared == nil {
		if !began {
			identity = ""
		}

		return s, identity, nil
	}
	// A fork has the record of the beginning of its original.
	origin, _, err := r.Origin().Must(ctx, b)

	return s, identity + Digest(origin), err
}
