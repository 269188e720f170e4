package runs

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store"
)

// Inventory lists the tasks that an environment offers.
type Inventory struct {
	Environment string              `json:"environment"` // name in the specification
	Title       string              `json:"title"`
	Version     string              `json:"version,omitempty"` // of its data, if it states one
	Templates   map[string][]string `json:"templates"`         // names by split, in order
}

// Digest identifies the offered tasks, regardless of the environment's name and title.
func (i Inventory) Digest() string {
	i.Environment = ""
	i.Title = ""

	return Digest(i)
}

// PutBlob writes the inventory as a blob.
func (i Inventory) PutBlob(ctx context.Context, bucket store.Bucket) (store.Ref, error) {
	raw, err := json.Marshal(i)
	if err != nil {
		return store.Ref{}, fault.As(fault.Fatal, err)
	}

	return store.PutBlob(ctx, bucket, raw)
}

// Inventory returns the inventory of the environment when an epoch began; epoch 0 is stage 1.
func (r Run) Inventory(ctx context.Context, bucket store.Bucket, epoch int) (Inventory, error) {
	var inventory Inventory
	made, _, err := r.Made(epoch).Must(ctx, bucket)
	if err != nil {
		return inventory, err
	}
	if made.Inventory == nil {
		return inventory, fault.New(fault.Corrupt, "%s names no inventory: begin the run anew", r.Made(epoch).Key)
	}

	return ReadInventory(ctx, bucket, *made.Inventory)
}

// ReadInventory reads an inventory from its blob.
func ReadInventory(ctx context.Context, bucket store.Bucket, ref store.Ref) (Inventory, error) {
	var inventory Inventory
	raw, err := store.GetBlob(ctx, bucket, ref.SHA256)
	if err != nil {
		return inventory, err
	}
	if err := json.Unmarshal(raw, &inventory); err != nil {
		return inventory, fault.New(fault.Corrupt, "%s: %w", ref.Key, err)
	}

	return inventory, nil
}

// Same returns the names of a split that both inventories have, and the names that only the newer one has.
func (i Inventory) Same(newer Inventory, split string) (common, added []string) {
	for _, name := range newer.Templates[split] {
		if slices.Contains(i.Templates[split], name) {
			common = append(common, name)
		} else {
			added = append(added, name)
		}
	}

	return common, added
}
