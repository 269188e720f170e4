package external

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/trainer"
)

// checkpoint is a stored checkpoint: its files by path.
type checkpoint struct {
	Step  int                   `json:"step"`
	Files []domain.ArtifactFile `json:"files"`
}

// restore puts the newest complete checkpoint up to an optimiser step into the folder, from the store where that has a later one, and removes what is torn, or of a station behind:
// programs take the last folder blindly.
func (t *Trainer) restore(ctx context.Context, f Folder, j trainer.Job, end int) error {
	newest := 0
	for n := range t.Tool.Checkpoints(f) {
		if n <= end {
			newest = max(newest, n)
		}
	}
	stored, err := t.Bucket.List(ctx, t.Checkpoints(j.ID))
	if err != nil {
		return err
	}
	for _, o := range slices.Backward(stored) {
		step := 0
		if _, err := fmt.Sscanf(strings.TrimPrefix(o.Key, t.Checkpoints(j.ID)), "%06d.json", &step); err != nil || step <= newest || step > end {
			continue // a result, or what this host has anyway
		}
		if err := t.fetch(ctx, f, o.Key); fault.KindOf(err) == fault.Transient && err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if t.Tool.Checkpoints(f)[step] != "" {
			break
		} // else an earlier one serves as well
	}
	whole := t.Tool.Checkpoints(f)
	if _, _, done := t.Tool.Result(f); len(whole) == 0 && !done { // programs refuse a folder with anything else in it
		if err := os.RemoveAll(f.Out()); err != nil {
			return fault.As(fault.Transient, err)
		}
	}
	all, _ := filepath.Glob(filepath.Join(f.Out(), "checkpoint-*"))
	for _, dir := range all {
		step := 0
		if _, err := fmt.Sscanf(filepath.Base(dir), "checkpoint-%d", &step); err != nil || whole[step] != dir || step > end {
			if err := os.RemoveAll(dir); err != nil {
				return fault.As(fault.Transient, err)
			}
		}
	}
	return nil
}

// fetch brings a stored checkpoint into the job's folder.
func (t *Trainer) fetch(ctx context.Context, f Folder, key string) error {
	c, _, err := store.Read[checkpoint](ctx, t.Bucket, key)
	if err != nil {
		return err
	}
	sums := map[string]string{}
	for _, x := range c.Files {
		sums[x.Path] = x.SHA256
	}
	dir := filepath.Join(f.Out(), fmt.Sprintf("checkpoint-%d", c.Step))
	if err := os.RemoveAll(dir); err != nil { // torn, or it would have counted
		return fault.As(fault.Transient, err)
	}
	return store.GetFiles(ctx, t.Bucket, sums, dir)
}
