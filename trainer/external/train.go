package external

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/local/disk"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/trainer"
)

// Trainer runs a tool's jobs.
type Trainer struct {
	Host
	Tool Tool

	companies companies
}

var _ trainer.Trainer = (*Trainer)(nil)

// Train runs a job to its end. A finished job returns its recorded result. An interrupted one resumes from the newest
// complete checkpoint, in the folder of this host or in the store.
func (t *Trainer) Train(ctx context.Context, job trainer.Job, progress trainer.Progress) (trainer.Result, error) {
	got, ended, err := store.May[trainer.Result](ctx, t.Bucket, t.resultKey(job))
	if err != nil || ended {
		return got, err
	}
	if len(job.Pairs) == 0 {
		return trainer.Result{Diverged: "no usable pair"}, nil
	}

	folder, err := t.folder(ctx, job)
	if err != nil {
		return got, err
	}

	unlock, err := lock(ctx, folder.Path)
	if err != nil {
		return got, err
	}
	defer unlock()

	if folder.Halved, err = t.halved(ctx, job); err != nil {
		return got, err
	}
	reap(t.Work, folder.Path)
	tidy(t.Work, time.Now())

	out, err := t.attempt(ctx, folder, job, progress)
	if err != nil {
		return out, err
	}

	got, _, err = store.RecordOnce(ctx, t.Bucket, t.resultKey(job), func() (trainer.Result, error) { return out, nil })
	if err == nil && (job.Until == 0 || out.Diverged != "") {
		_ = os.RemoveAll(folder.Path) // The store has everything that matters.
	}

	return got, err
}

// minFree is the disk space with which a job can begin, in bytes: an adapter, its optimiser's state, checkpoints.
const minFree = 2 << 30

// Ready returns an invalid fault if this host lacks the base model of the options, the training program or space.
func (t *Trainer) Ready(options json.RawMessage) error {
	_, _, err := t.Tool.Base(options)
	err = errors.Join(err, disk.Room(t.Work, minFree))
	if p, ok := t.Tool.(interface{ Ready() error }); ok {
		err = errors.Join(err, p.Ready())
	}

	return err
}

// Adopt reads a policy of the store, or takes the base model as one.
func (t *Trainer) Adopt(ctx context.Context, digest string, options json.RawMessage) (trainer.Result, error) {
	base, err := t.base(options)
	if err != nil {
		return trainer.Result{}, err
	}
	if digest == domain.UntrainedBase {
		artifact, digest, err := PutArtifact(ctx, t.Bucket, base.Artifact, nil)

		return trainer.Result{Digest: digest, TensorDigest: artifact.TensorDigest()}, err
	}

	local, err := t.local(ctx, digest, base)

	return trainer.Result{
		Digest:       digest,
		TensorDigest: local.TensorDigest(),
		Report:       &domain.TrainReport{Files: local.Files},
	}, err
}

// folder returns the job's folder, with the policies that the job needs on this host.
func (t *Trainer) folder(ctx context.Context, job trainer.Job) (Folder, error) {
	base, err := t.base(job.Options)
	if err != nil {
		return Folder{}, err
	}

	f := Folder{Path: filepath.Join(t.Work, "jobs", jobName(job)), Base: base}
	if f.Start, err = t.local(ctx, job.Start, base); err == nil && job.Objective != trainer.SFT {
		f.Reference, err = t.local(ctx, job.Reference, base)
	}

	return f, err
}

// base returns the base model that the options name.
func (t *Trainer) base(options json.RawMessage) (Local, error) {
	model, dir, err := t.Tool.Base(options)
	artifact := domain.Artifact{Kind: domain.ArtifactBase, Base: model, Files: []domain.ArtifactFile{}}

	return Local{Artifact: artifact, Dir: dir}, err
}

// jobName returns the name of the job's folder. It is the same for the same work.
func jobName(job trainer.Job) string {
	job.Workers = 0
	job.Until = 0
	job.Every = 0
	raw, err := json.Marshal(job)
	if err != nil {
		panic(err) // A job holds plain values only.
	}

	return store.Sum(raw)[:24]
}

// resultKey returns the key of the job's result. A job that ends early has a separate result.
func (t *Trainer) resultKey(job trainer.Job) string {
	if job.Until > 0 {
		return fmt.Sprintf("%sresult-%06d.json", t.Checkpoints(job.ID), job.Until)
	}

	return t.Checkpoints(job.ID) + "result.json"
}
