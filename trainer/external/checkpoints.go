package external

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/trainer"
)

// checkpoint is the record of a stored checkpoint.
type checkpoint struct {
	Step  int                   `json:"step"`
	Files []domain.ArtifactFile `json:"files"`
}

// store puts checkpoints into the store, the newest last. A checkpoint is recorded after its files, so it is there
// whole or not at all. While the program runs, only what has not changed since the last look counts, without the last
// step: the policy comes next.
func (w *watch) store(ctx context.Context, ended bool) error {
	now := w.t.Tool.Checkpoints(w.f)
	seen := map[int]string{}
	for _, step := range slices.Sorted(maps.Keys(now)) {
		seen[step] = listing(now[step])
		if w.stored[step] || !ended && (w.seen[step] != seen[step] || step == w.cmd.Total) {
			continue
		}

		stored, err := w.storeOne(ctx, step, now[step], seen[step])
		if err != nil {
			return err
		}
		if stored {
			w.stored[step] = true
		}
	}
	w.seen = seen

	return nil
}

// storeOne stores a checkpoint, unless the program removes it meanwhile: then there is a later one.
func (w *watch) storeOne(ctx context.Context, step int, dir, before string) (stored bool, err error) {
	files, err := putFolder(ctx, w.t.Bucket, dir)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if len(files) == 0 || listing(dir) != before {
		return false, nil
	}

	key := fmt.Sprintf("%s%06d.json", w.t.Checkpoints(w.j.ID), step)
	_, _, err = store.RecordOnce(ctx, w.t.Bucket, key, func() (checkpoint, error) {
		return checkpoint{Step: step, Files: files}, nil
	})

	return err == nil, err
}

// putFolder stores all files of a folder.
func putFolder(ctx context.Context, bucket store.Bucket, dir string) ([]domain.ArtifactFile, error) {
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			rel, _ := filepath.Rel(dir, path)
			files[filepath.ToSlash(rel)] = path
		}

		return err
	})
	if err != nil {
		return nil, err
	}

	return putFiles(ctx, bucket, files)
}

// listing returns a folder's files with their sizes and times. Two equal listings mean that nothing was written
// between them.
func listing(dir string) string {
	var builder strings.Builder
	_ = filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err == nil {
			if st, e := entry.Info(); e == nil {
				_, _ = fmt.Fprintln(&builder, path, st.Size(), st.ModTime().UnixNano())
			}
		}

		return nil
	})

	return builder.String()
}

// restore puts the newest complete checkpoint up to the step end into the folder, from the store if that has a later
// one. It removes torn checkpoints and those after end, because programs take the last folder blindly.
func (t *Trainer) restore(ctx context.Context, folder Folder, job trainer.Job, end int) error {
	if err := t.fetchNewest(ctx, folder, job, end); err != nil {
		return err
	}

	whole := t.Tool.Checkpoints(folder)
	// Programs refuse a folder with anything else in it.
	if _, _, done := t.Tool.Result(folder); len(whole) == 0 && !done {
		if err := os.RemoveAll(folder.Out()); err != nil {
			return fault.As(fault.Transient, err)
		}
	}

	all, _ := filepath.Glob(filepath.Join(folder.Out(), "checkpoint-*"))
	for _, dir := range all {
		step := 0
		_, err := fmt.Sscanf(filepath.Base(dir), "checkpoint-%d", &step)
		if err == nil && whole[step] == dir && step <= end {
			continue
		}
		if err := os.RemoveAll(dir); err != nil {
			return fault.As(fault.Transient, err)
		}
	}

	return nil
}

// fetchNewest brings the newest stored checkpoint up to the step end into the folder, if it is later than those there.
// If it is not whole, an earlier one serves.
func (t *Trainer) fetchNewest(ctx context.Context, folder Folder, job trainer.Job, end int) error {
	newest := 0
	for n := range t.Tool.Checkpoints(folder) {
		if n <= end {
			newest = max(newest, n)
		}
	}

	stored, err := t.Bucket.List(ctx, t.Checkpoints(job.ID))
	if err != nil {
		return err
	}
	for _, ref := range slices.Backward(stored) {
		step := 0
		name := strings.TrimPrefix(ref.Key, t.Checkpoints(job.ID))
		if _, err := fmt.Sscanf(name, "%06d.json", &step); err != nil || step <= newest || step > end {
			continue // It is a result, or a checkpoint of no use.
		}
		err := t.fetch(ctx, folder, ref.Key)
		if err != nil && fault.KindOf(err) == fault.Transient && !errors.Is(err, store.ErrAbsent) {
			return err
		}
		if t.Tool.Checkpoints(folder)[step] != "" {
			return nil
		}
	}

	return nil
}

// fetch brings a stored checkpoint into the job's folder.
func (t *Trainer) fetch(ctx context.Context, folder Folder, key string) error {
	c, _, err := store.Must[checkpoint](ctx, t.Bucket, key)
	if err != nil {
		return err
	}

	dir := filepath.Join(folder.Out(), fmt.Sprintf("checkpoint-%d", c.Step))
	if err := os.RemoveAll(dir); err != nil { // It is torn, otherwise it would have counted.
		return fault.As(fault.Transient, err)
	}

	return store.GetFiles(ctx, t.Bucket, domain.Artifact{Files: c.Files}.Sums(), dir)
}
