package runs

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/collabui/collabui/internal/store"
)

// Retirement is a list of blobs that were removed although records name them, as a retention policy requires.
type Retirement struct {
	Who   string    `json:"who"`
	Why   string    `json:"why"` // the policy
	At    time.Time `json:"at"`
	Blobs []string  `json:"blobs"` // digests
}

// RetiredPrefix is the prefix of the keys of retirements.
const RetiredPrefix = "gc/retired/"

// RetirementAt names the record of a retirement.
func RetirementAt(at time.Time) Object[Retirement] {
	return Object[Retirement]{fmt.Sprintf("%s%s.json", RetiredPrefix, at.UTC().Format("20060102-150405.000000000"))}
}

// Retired returns the digests of all blobs that were retired. Some may have been written again.
func Retired(ctx context.Context, bucket store.Bucket) (map[string]bool, error) {
	objects, err := bucket.List(ctx, RetiredPrefix)
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for _, ref := range objects {
		if !strings.HasSuffix(ref.Key, ".json") {
			continue
		}
		retirement, _, err := store.Must[Retirement](ctx, bucket, ref.Key)
		if err != nil {
			return nil, err
		}
		for _, digest := range retirement.Blobs {
			out[digest] = true
		}
	}

	return out, nil
}
