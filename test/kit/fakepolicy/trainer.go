package fakepolicy

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/trainer"
)

// Steps is the number of optimiser steps of every job of Trainer.
const Steps = 2

// Trainer makes policies that are named by the digests of their jobs, ignoring the jobs' names. It stores a checkpoint
// at every step.
type Trainer struct {
	Bucket store.Bucket
	Step   func(ctx context.Context, name string) error // called before every step; may be nil

	Version string // trainers of different versions train different policies
}

// Train writes a policy of a few bytes.
func (t Trainer) Train(ctx context.Context, job trainer.Job, say trainer.Progress) (trainer.Result, error) {
	id := job.ID
	job.ID = ""
	job.Workers = 0
	raw, err := json.Marshal(job)
	if err != nil {
		return trainer.Result{}, err
	}
	out := trainer.Result{Steps: Steps}
	state := store.Sum(append(raw, t.Version...))
	for step := 1; step <= Steps; step++ {
		if t.Step != nil {
			if err := t.Step(ctx, fmt.Sprintf("train %s step %d", id, step)); err != nil {
				return out, err
			}
		}
		state = store.Sum([]byte(state))
		key := fmt.Sprintf("%s-checkpoint-%06d.json", id, step)
		_, _, err := store.RecordOnce(ctx, t.Bucket, key, func() (store.Ref, error) {
			return store.PutBlob(ctx, t.Bucket, []byte(state))
		})
		if err != nil {
			return out, err
		}
		point := domain.TrainPoint{Step: step, Steps: Steps, Loss: 1 / float64(step)}
		out.Curve = append(out.Curve, point)
		say(point)
	}
	ref, err := store.PutBlob(ctx, t.Bucket, []byte("policy "+state))
	out.Digest = ref.SHA256
	out.TensorDigest = ref.SHA256

	return out, err
}

// Adopt accepts any policy of the store.
func (t Trainer) Adopt(ctx context.Context, digest string, _ json.RawMessage) (trainer.Result, error) {
	_, err := store.GetBlob(ctx, t.Bucket, digest)

	return trainer.Result{Digest: digest, TensorDigest: digest}, err
}

// Score returns the scores of Policies, except for answers that were sampled, whose log-probabilities are random.
func (Trainer) Score(ctx context.Context, job trainer.ScoreJob) (trainer.Scores, error) {
	out := trainer.Scores{Precision: domain.Exact}
	for _, row := range job.Rows {
		if row.Sampled {
			out.Scores = append(out.Scores, trainer.Score{})
			continue
		}
		got, err := Policies{}.Score(ctx, chat.ScoreRequest{
			Model: row.Policy, User: row.Prompt, Answers: []string{row.Answer},
		})
		if err != nil {
			return out, err
		}
		out.Scores = append(out.Scores, trainer.Score{LogProb: got[0].LogProb, Tokens: got[0].Tokens})
	}

	return out, nil
}
