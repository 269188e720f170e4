package runs

import (
	"context"
	"time"

	"github.com/collabui/collabui/internal/store"
)

// Claim names the namespace and the Temporal that drive a run from a moment on. Every start of a run claims it. The
// newest claim counts: actions of a namespace with an older claim are refused.
type Claim struct {
	Namespace string    `json:"namespace"` // its id: a new Temporal has other ids
	Name      string    `json:"name"`      // of the namespace, and Address of its Temporal, for people
	Address   string    `json:"address"`
	Store     string    `json:"store"` // id of the store in which it was written: a copy claims nothing
	Who       string    `json:"who"`
	At        time.Time `json:"at"`
}

// Same reports whether both claims are for one namespace and one store.
func (c Claim) Same(claim Claim) bool {
	return c.Namespace == claim.Namespace && c.Store == claim.Store
}

// claimsFolder is the folder of claims, below the run.
const claimsFolder = "claims"

// Claim returns claim n of the run, from 1.
func (r Run) Claim(n int) Object[Claim] { return object[Claim](r, claimsFolder+"/%04d", n) }

// Claimed returns the newest claim and its number. The result is at least known, which exists or is 0. Number 0 means
// that the store shows no claim.
func (r Run) Claimed(ctx context.Context, bucket store.Bucket, known int) (Claim, int, error) {
	n, err := store.Last(ctx, bucket, known, func(n int) string { return r.Claim(n).Key })
	if err != nil || n == 0 {
		return Claim{}, n, err
	}
	claim, _, err := r.Claim(n).Must(ctx, bucket)

	return claim, n, err
}

// Take makes a claim the newest one of the run, unless the newest is already the same, and returns the previous claim,
// or an empty one. If two are taken at once, one of them is the newest. It may be repeated.
func (r Run) Take(ctx context.Context, bucket store.Bucket, claim Claim) (before Claim, err error) {
	before, n, err := r.Claimed(ctx, bucket, 0)
	for err == nil && (n == 0 || !before.Same(claim)) {
		var got Claim
		n++
		if got, _, _, err = r.Claim(n).Write(ctx, bucket, claim); err != nil || got.Same(claim) {
			return before, err
		}
		before = got // another claim, older than this one
	}

	return before, err
}
