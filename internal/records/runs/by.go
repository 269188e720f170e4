package runs

import (
	"context"

	"github.com/collabui/collabui/internal/store"
)

// By identifies the run that made a record among all runs of its name: the name of a deleted run may be used again
// while one of its workers still writes. No digest depends on it.
type By struct {
	Tag string `json:"by,omitempty"`
}

// By returns the identity that the run's records contain. It is derived from the records of when the run began and of
// when it was forked. The run must have begun.
func (r Run) By(ctx context.Context, bucket store.Bucket) (By, error) {
	shared, err := r.Shared(ctx, bucket)
	if err != nil {
		return By{}, err
	}
	_, began, err := r.Made(0).Must(ctx, bucket)
	if err != nil {
		return By{}, err
	}
	var forked store.Ref
	if shared != nil {
		if _, forked, err = r.Origin().Must(ctx, bucket); err != nil {
			return By{}, err
		}
	}

	return By{Digest([]string{began.SHA256, forked.SHA256})[:16]}, nil
}

// Identify reads the specification of a run, and returns an identity that no other run of its name has: the digests of
// the specification, of the record of when the run began, and of a fork's origin. It returns no identity before the run
// has begun, because an earlier run of the name may have had the same specification.
func (r Run) Identify(ctx context.Context, bucket store.Bucket) (Forked, string, error) {
	forked, ref, err := r.Forked().Must(ctx, bucket)
	if err != nil {
		return forked, "", err
	}
	made, exists, err := r.Made(0).May(ctx, bucket)
	if err != nil {
		return forked, "", err
	}
	identity := ref.SHA256 + Digest(made)
	if forked.Shared == nil {
		if !exists {
			identity = ""
		}

		return forked, identity, nil
	}
	// A fork has its original's record of the beginning.
	origin, _, err := r.Origin().Must(ctx, bucket)

	return forked, identity + Digest(origin), err
}
