package runs

import (
	"context"
	"slices"
	"strings"

	"github.com/collabui/collabui/internal/store"
)

// Promotion names an entry of a line that accepts a system of the run, or was about to: it is recorded before the
// entry. It lets a run know the lines that may need it even if no list shows them.
type Promotion struct {
	Line  string `json:"line"`
	Entry int    `json:"entry"`
}

// promotionsFolder is the folder of promotions, below the run.
const promotionsFolder = "promotions"

// Promotion is promotion n of the run, from 1.
func (r Run) Promotion(n int) Object[Promotion] {
	return object[Promotion](r, promotionsFolder+"/%04d", n)
}

// Promotions returns all promotions of the run, in order.
func (r Run) Promotions(ctx context.Context, bucket store.Bucket) ([]Promotion, error) {
	return Log[Promotion](r.Promotion).After(ctx, bucket, 0, 0)
}

// Promote records a promotion, once. It may be repeated.
func (r Run) Promote(ctx context.Context, bucket store.Bucket, promotion Promotion) error {
	all, err := r.Promotions(ctx, bucket)
	for n := len(all) + 1; err == nil && !slices.Contains(all, promotion); n++ {
		var got Promotion
		got, _, _, err = r.Promotion(n).Write(ctx, bucket, promotion)
		all = append(all, got)
	}

	return err
}

// IsLocal reports whether an object of a run matters only in its own store, so that copies leave it out: the signs of
// processes that write the run, claims and promotions.
func IsLocal(key string) bool {
	below := strings.TrimPrefix(key, Run(NameOf(key)).Prefix())

	return IsMark(key) || strings.HasPrefix(below, claimsFolder+"/") || strings.HasPrefix(below, promotionsFolder+"/")
}
