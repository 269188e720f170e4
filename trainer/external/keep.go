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
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/trainer"
)

// store puts checkpoints into the store, newest last: a manifest follows its files, so that a checkpoint is there whole or not at all. While the program runs only
// what has not changed since the last look counts.
func (w *watch) store(ctx context.Context, ended bool) error {
	now, seen := w.t.Tool.Checkpoints(w.f), map[int]string{}
	for _, step := range sorted(now) {
		seen[step] = listing(now[step])
		if w.stored[step] || !ended && w.seen[step] != seen[step] {
			continue
		}
		files, err := w.t.put(ctx, now[step], nil)
		if errors.Is(err, os.ErrNotExist) || err == nil && (len(files) == 0 || listing(now[step]) != seen[step]) { // the program removes it: a later one is there
			continue
		}
		if err != nil {
			return err
		}
		key := fmt.Sprintf("%s%06d.json", w.t.Checkpoints(w.j.ID), step)
		if _, _, err := store.RecordOnce(ctx, w.t.Bucket, key, func() (checkpoint, error) { return checkpoint{step, files}, nil }); err != nil {
			return err
		}
		w.stored[step] = true
	}
	w.seen = seen
	return nil
}

// put stores files of a folder by content; names maps their paths in the result to those on disk, nil means all of the folder.
func (t *Trainer) put(ctx context.Context, dir string, names map[string]string) ([]domain.ArtifactFile, error) {
	if names == nil {
		names = map[string]string{}
		if err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				rel, _ := filepath.Rel(dir, path)
				names[filepath.ToSlash(rel)] = path
			}
			return err
		}); err != nil {
			return nil, err
		}
	}
	var out []domain.ArtifactFile
	for _, name := range sorted(names) {
		ref, err := store.PutBlobFile(ctx, t.Bucket, names[name])
		if err != nil {
			return nil, err
		}
		out = append(out, domain.ArtifactFile{Path: name, Key: ref.Key, SHA256: ref.SHA256, Size: ref.Size})
	}
	return out, nil
}

// collect stores the policy of a finished job and says how it came about.
func (w *watch) collect(ctx context.Context) (trainer.Result, error) {
	behind := func(p domain.TrainPoint) bool { return p.Step > w.end } // the program was faster than its end at a station
	out := trainer.Result{Curve: slices.DeleteFunc(w.t.Tool.Points(w.f), behind)}
	for i, p := range out.Curve {
		out.Curve[i].Steps, out.Curve[i].Live = w.cmd.Total, ""
		if notNumber(p) {
			return trainer.Result{Diverged: fmt.Sprintf("the loss is not a number at step %d", p.Step)}, nil
		}
	}
	out.Steps = w.end
	files, metrics, done := w.t.Tool.Result(w.f)
	if w.end < w.cmd.Total || !done {
		var err error
		if files, metrics, err = w.t.Tool.Policy(w.f, w.t.Tool.Checkpoints(w.f)[w.end]); err != nil {
			return out, err
		}
	}
	stored, err := w.t.put(ctx, "", files)
	if err != nil {
		return out, err
	}
	a := domain.Artifact{Kind: w.cmd.Kind, Base: w.f.Base.Base, Rank: w.cmd.Rank, Files: stored}
	body, digest := a.Encode()
	if _, err := store.PutBlob(ctx, w.t.Bucket, body); err != nil {
		return out, err
	}
	out.Digest, out.TensorDigest = digest, a.TensorDigest()
	out.Report = &domain.TrainReport{Command: w.cmd.Args, Versions: <-w.versions, Metrics: metrics, Files: stored}
	if log, err := w.t.put(ctx, "", map[string]string{filepath.Base(w.f.Log()): w.f.Log()}); err == nil {
		out.Report.Log = &log[0]
	}
	return out, nil
}

// listing is a folder's files with their sizes and times: two equal ones mean that nothing was written between.
func listing(dir string) string {
	var b strings.Builder
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil {
			if st, e := d.Info(); e == nil {
				_, _ = fmt.Fprintln(&b, path, st.Size(), st.ModTime().UnixNano())
			}
		}
		return nil
	})
	return b.String()
}
