// Package external runs training programs that are not ours: it gives them a job folder, supervises them as child processes, follows their progress, stores every
// complete checkpoint, and resumes on whichever host takes the next attempt. What differs between programs is a Tool. It knows the trainer's contract and
// internal/store.
package external

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/trainer"
)

// Tool drives one training program. Methods may be called again for every attempt at a job, by several processes.
type Tool interface {
	// Base gives the base model of the job's options: identity and folder. A model that is not there whole is an invalid fault.
	Base(options json.RawMessage) (domain.BaseModel, string, error)
	// Render writes data and configuration into the job's folder and says what to run. What the program would refuse, drop or cut in silence is an invalid fault here,
	// so is a reference that the program cannot be given.
	Render(ctx context.Context, f Folder, j trainer.Job) (Command, error)
	// Points reads the curve so far, in the order of steps, each step once. Half a last line is no error.
	Points(f Folder) []domain.TrainPoint
	// Checkpoints gives the complete checkpoints of the folder by step. They are the folders checkpoint-<step> of Folder.Out: under that name they are restored, and others of that
	// form are removed before the program starts.
	Checkpoints(f Folder) map[int]string
	// Result gives the policy's files where the program has finished, by their names in the artifact; done is false where it has not, whatever its exit status was.
	Result(f Folder) (files map[string]string, metrics map[string]float64, done bool)
	// Policy gives the policy's files in a complete checkpoint, and its metrics so far.
	Policy(f Folder, checkpoint string) (files map[string]string, metrics map[string]float64, err error)
	// Alarm gives the reason why a running program has to be ended at once, from the beginning of what it has said since it was started: it would go on with something else than it was
	// given.
	Alarm(f Folder, said string) error
	// Explain says what an end without a result means, from the program's last words.
	Explain(tail string, exit error) error
}

// Folder is where one job is done on this host.
type Folder struct {
	Path      string
	Base      Local // the base model
	Start     Local // the policy to start from
	Reference Local // of dpo
	Ranks     int   // processes of the program, each with a random state of its own in checkpoints; at least 1
}

// Log is where what the program says is kept.
func (f Folder) Log() string { return filepath.Join(f.Path, "train.log") }

// Out is where the program writes.
func (f Folder) Out() string { return filepath.Join(f.Path, "out") }

// Local is a policy on this host.
type Local struct {
	domain.Artifact
	Dir string // of its files; of the base model its folder
}

// Command is what to run. Args, Total and Kind must be given.
type Command struct {
	Args     []string
	Env      []string                 // added to this process's
	Versions func() map[string]string // of what runs; asked for beside the program, once
	Total    int                      // optimiser steps of the whole job
	Kind     string                   // of the artifact that comes of it
	Rank     int                      // of a LoRA adapter
	Stall    time.Duration            // without a sign of life the program counts as hung
	Drop     string                   // further alternatives of a regular expression, each with | before it: beginnings of environment variables that the program must not see
	Devices  int                      // GPUs; 0: none
}

// Host is what a machine gives to its jobs.
type Host struct {
	Bucket      store.Bucket
	Checkpoints func(job string) string // the prefix of a job's checkpoints in the store
	Work        string                  // folder for jobs and policies, of this machine alone; safe to delete when nothing runs
	Devices     *Devices                // nil: no GPU
	Look        time.Duration           // between looks at a program's folder; 0 means half a second
	Grace       time.Duration           // between the request to stop and the kill; 0 means 10 s
	Share       *Share                  // the server that has to sleep meanwhile; nil: none
	Python      string                  // interpreter for short helpers; "": the program's own
}

// Trainer runs a tool's jobs.
type Trainer struct {
	Host
	Tool Tool
}

var _ trainer.Trainer = (*Trainer)(nil)

// Train runs a job to its end: a finished one gives its recorded policy, a broken one goes on from the newest complete checkpoint, be it in the folder of this host or
// in the store.
func (t *Trainer) Train(ctx context.Context, j trainer.Job, p trainer.Progress) (trainer.Result, error) {
	got, _, err := store.Read[trainer.Result](ctx, t.Bucket, t.resultKey(j))
	if !errors.Is(err, store.ErrNotFound) {
		return got, err
	}
	if len(j.Pairs) == 0 {
		return trainer.Result{Diverged: "no usable pair"}, nil
	}
	model, dir, err := t.Tool.Base(j.Options)
	if err != nil {
		return got, err
	}
	f := Folder{Path: filepath.Join(t.Work, "jobs", jobName(j)), Base: Local{domain.Artifact{Kind: domain.ArtifactBase, Base: model, Files: []domain.ArtifactFile{}}, dir}}
	if f.Start, err = t.local(ctx, j.Start, f.Base); err == nil && j.Objective == trainer.DPO {
		f.Reference, err = t.local(ctx, j.Reference, f.Base)
	}
	if err != nil {
		return got, err
	}
	unlock, err := lock(ctx, f.Path)
	if err != nil {
		return got, err
	}
	defer unlock()
	reap(t.Work, f.Path)
	tidy(t.Work, time.Now())
	out, err := t.attempt(ctx, f, j, p)
	if err != nil {
		return out, err
	}
	got, _, err = store.RecordOnce(ctx, t.Bucket, t.resultKey(j), func() (trainer.Result, error) { return out, nil })
	if err == nil && (j.Until == 0 || out.Diverged != "") {
		_ = os.RemoveAll(f.Path) // what matters of it is in the store
	}
	return got, err
}

// jobName is the same for the same work.
func jobName(j trainer.Job) string {
	j.Workers, j.Until, j.Every = 0, 0, 0
	raw, err := json.Marshal(j)
	if err != nil {
		panic(err) // plain values only
	}
	return store.Sum(raw)[:24]
}

func (t *Trainer) resultKey(j trainer.Job) string {
	if j.Until > 0 { // a station of a longer job
		return fmt.Sprintf("%sresult-%06d.json", t.Checkpoints(j.ID), j.Until)
	}
	return t.Checkpoints(j.ID) + "result.json"
}

// Artifact reads a policy of the store; "" is the base model as it is.
func (t *Trainer) artifact(ctx context.Context, digest string, base Local) (domain.Artifact, error) {
	if digest == "" {
		return base.Artifact, nil
	}
	raw, err := store.GetBlob(ctx, t.Bucket, digest)
	if errors.Is(err, store.ErrNotFound) {
		return domain.Artifact{}, fault.New(fault.Invalid, "no policy %s stands in the store; bring one with `collabui import FOLDER --base-model %s`", digest, base.Dir)
	}
	if err != nil {
		return domain.Artifact{}, err
	}
	a, err := domain.DecodeArtifact(raw)
	if err != nil {
		return a, fault.New(fault.Invalid, "%s is no policy of a training program: %w", digest, err)
	}
	if a.Base != base.Base {
		return a, fault.New(fault.Invalid, "policy %s belongs to the base model %s (%.12s), not to %s (%.12s) in %s", digest, a.Base.Name, a.Base.Digest, base.Base.Name, base.Base.Digest, base.Dir)
	}
	return a, nil
}

// local brings a policy's files to this host, whole or not at all.
func (t *Trainer) local(ctx context.Context, digest string, base Local) (Local, error) {
	a, err := t.artifact(ctx, digest, base)
	if err != nil || a.Kind == domain.ArtifactBase {
		return Local{a, base.Dir}, err
	}
	dir := filepath.Join(t.Work, "policies", digest)
	touch(dir)
	if _, err := os.Stat(dir); err == nil && store.CheckFiles(dir, a.Sums()) != nil { // no longer what it was
		if err := os.RemoveAll(dir); err != nil {
			return Local{}, fault.As(fault.Transient, err)
		}
	}
	return Local{a, dir}, store.GetFiles(ctx, t.Bucket, a.Sums(), dir)
}

// Adopt reads a policy of the store, or takes the base model as one.
func (t *Trainer) Adopt(ctx context.Context, digest string, options json.RawMessage) (trainer.Result, error) {
	model, dir, err := t.Tool.Base(options)
	if err != nil {
		return trainer.Result{}, err
	}
	base := Local{domain.Artifact{Kind: domain.ArtifactBase, Base: model, Files: []domain.ArtifactFile{}}, dir}
	if digest == domain.UntrainedBase {
		body, digest := base.Encode()
		_, err := store.PutBlob(ctx, t.Bucket, body)
		return trainer.Result{Digest: digest, TensorDigest: base.TensorDigest()}, err
	}
	a, err := t.local(ctx, digest, base)
	return trainer.Result{Digest: digest, TensorDigest: a.TensorDigest(), Report: &domain.TrainReport{Files: a.Files}}, err
}

// ModelOf is the base model in a folder.
func ModelOf(dir string) (domain.BaseModel, error) {
	digest, err := ModelDigest(dir)
	return domain.BaseModel{Name: filepath.Base(filepath.Clean(dir)), Digest: digest}, err
}

// ModelDigest identifies a model's folder without reading its weights: configuration, index and tokenizer by their bytes, weights by name and size. A folder without
// configuration, or whose index names shards that are not there, is an invalid fault.
func ModelDigest(dir string) (string, error) {
	config, err := os.ReadFile(filepath.Join(dir, "config.json"))
	if err != nil {
		return "", fault.New(fault.Invalid, "no model in %s: config.json: %w; bring the weights there before the worker starts", dir, err)
	}
	text := "config " + store.Sum(config) + "\n"
	var index struct {
		Weights map[string]string `json:"weight_map"`
	}
	shards := map[string]bool{}
	for _, name := range []string{"model.safetensors.index.json", "tokenizer.json"} {
		raw, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			continue // small models have one file and no index; some tokenizers have another form
		}
		text += name + " " + store.Sum(raw) + "\n"
		if strings.Contains(name, "index") && json.Unmarshal(raw, &index) == nil {
			for _, s := range index.Weights {
				shards[s] = true
			}
		}
	}
	if len(shards) == 0 {
		found, _ := filepath.Glob(filepath.Join(dir, "*.safetensors"))
		for _, s := range found {
			shards[filepath.Base(s)] = true
		}
	}
	if len(shards) == 0 {
		return "", fault.New(fault.Invalid, "no weights in %s: no file *.safetensors; bring them there before the worker starts", dir)
	}
	for _, s := range sorted(shards) {
		size, err := WholeTensors(filepath.Join(dir, s))
		if err != nil {
			return "", fault.New(fault.Invalid, "the weights in %s are not whole: %w", dir, err)
		}
		text += fmt.Sprintf("%s %d\n", s, size)
	}
	return store.Sum([]byte(text)), nil
}
