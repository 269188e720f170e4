package runs

import (
	"context"
	"time"

	"github.com/collabui/collabui/internal/store"
)

// Imported names a blob that a person imported. gc keeps the blob even while no run uses it.
type Imported struct {
	Blob store.Ref `json:"blob"`
	File string    `json:"file"`
	Who  string    `json:"who"`
	At   time.Time `json:"at"`
}

// ImportsPrefix is the prefix of the keys of imports.
const ImportsPrefix = "imports/"

// Import records that a person imported a blob. It may be repeated: the first import counts.
func Import(ctx context.Context, bucket store.Bucket, imported Imported) error {
	o := Object[Imported]{ImportsPrefix + imported.Blob.SHA256 + ".json"}
	_, _, err := o.Record(ctx, bucket, func() (Imported, error) { return imported, nil })

	return err
}
