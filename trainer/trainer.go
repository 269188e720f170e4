// Package trainer is the contract between the system and the programs that update policies: the embedded trainer
// (trainer/tiny), or a GPU trainer that runs another program (trainer/external).
//
// A trainer outside this repository imports three public packages: this one, domain for pairs, parameters and
// artifacts, and fault for the kinds of errors. The kind of an error decides what happens next: fault.Transient and
// fault.Throttled are tried again, fault.Invalid waits for a person. The trainer is then added to workers/catalog;
// docs/add-a-trainer.md shows how.
//
// It does no I/O.
package trainer

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/collabui/collabui/domain"
)

// Objective is what an update optimises.
type Objective string

// The objectives.
const (
	SFT Objective = "sft" // raises log π(chosen | prompt)
	DPO Objective = "dpo" // prefers chosen over rejected answers, relative to a reference policy (docs/method.md)

	// GRPO raises and lowers log π(chosen | prompt) by the pairs' advantages, near a reference policy (docs/method.md).
	GRPO Objective = "grpo"
)

// Job is one update of one policy. Its result is a function of the job alone.
type Job struct {
	// ID identifies the job. Checkpoints are stored under it.
	ID string
	// Start is the digest of the policy to start from. With "" the trainer draws a new one from Seed.
	Start string
	// Reference is the digest of the reference policy of DPO and GRPO.
	Reference string
	Objective Objective
	// Pairs have a fixed order. SFT uses prompts and chosen answers, GRPO also advantages: its pairs are samples.
	Pairs  []domain.Example
	Params domain.TrainParams
	Seed   uint64
	// Workers is the number of threads. It never changes the result.
	Workers int
	// Steps is the number of optimiser steps of the whole job. With 0 it follows from Params.Passes.
	Steps int
	// Until ends the job early, after this optimiser step; the result is the policy at that step. 0 means all steps.
	Until int
	// Every is the number of optimiser steps between checkpoints. 0 means the trainer's default.
	Every int

	// Skip is the share of Pairs that may be left out because they are too long, 0 to 1. More of them are an invalid
	// fault. It is not part of what identifies the job.
	Skip float64 `json:"-"`

	// System is the system message of every prompt. The embedded trainer ignores it.
	System string
	// Pixels is the maximum number of pixels of the pictures of Pairs. Trainers must not scale pictures that have no
	// more. 0 means that there are no pictures.
	Pixels int `json:",omitempty"`
	// Options are the trainer's own, as they are in the specification; see workers/catalog.
	Options json.RawMessage
}

// Progress is called whenever a job that runs shows a sign of life, with its newest point; Step is 0 before the first.
// A job that shows none for long is given up.
type Progress func(p domain.TrainPoint)

// Must records that an option is impossible: if ok is false, field does not hold what was expected.
type Must = func(ok bool, field, expected string, args ...any)

// Result is the result of a job.
type Result struct {
	// Digest names the policy, in the store and for the servers.
	Digest string `json:"digest"`
	// TensorDigest is the digest of the parameters alone.
	TensorDigest string              `json:"tensor_digest"`
	Steps        int                 `json:"steps"`
	Curve        []domain.TrainPoint `json:"curve"`
	// Skipped counts the pairs that the trainer cannot express, or that are longer than its options allow.
	Skipped int `json:"skipped"`
	// SkippedRight counts the right answers beside the pairs that the trainer cannot express.
	SkippedRight int `json:"skipped_right,omitempty"`
	// Diverged is the reason why there is no policy: the loss is not a number, or no pair can be trained on.
	Diverged string `json:"diverged,omitempty"`
	// Report is set by trainers that run another program.
	Report *domain.TrainReport `json:"report,omitempty"`
}

// ScoreJob is answers that a trainer scores.
type ScoreJob struct {
	Rows []Row
	// System is the system message of every prompt.
	System string
	// Options are the options of the job that trained the policies.
	Options json.RawMessage
}

// Row is an answer to a prompt under a policy.
type Row struct {
	Policy string // digest
	Prompt string
	Image  string // digest of the picture that belongs to the prompt; empty without one
	Answer string
	// Sampled is set if a server sampled the answer, at Temperature and within TopP. The token that ends a turn then
	// counts, if the policy writes one.
	Sampled     bool
	Temperature float64
	TopP        float64
}

// Scores are the scores of the rows of a ScoreJob, in order.
type Scores struct {
	Scores []Score
	// Precision is the precision in which the trainer computes.
	Precision domain.Precision
}

// Score is the log-probability of a row's answer, summed over its tokens, in nats.
type Score struct {
	LogProb float64 // at temperature 1; −∞ if the policy cannot say the answer
	Tokens  int     // of the answer
	Prompt  int     // tokens of the prompt; 0 if unknown
	IDs     string  // chat.TokensDigest of the tokens of prompt and answer; empty if unknown
	// Scaled and Cut are LogProb at the temperature at which the answer was sampled, and within TopP, too. They are 0
	// unless the row is sampled.
	Scaled float64
	Cut    float64
}

// ErrNoScores means that a trainer cannot score answers. The error that wraps it states the reason.
var ErrNoScores = errors.New("the trainer cannot score answers")

// Scorer is a Trainer that scores answers with the weights that it has saved. What servers answer is compared with
// these scores (docs/method.md, Gates).
type Scorer interface {
	// Score reads the policies from the store, and scores every row. It may be repeated.
	Score(ctx context.Context, j ScoreJob) (Scores, error)
}

// Trainer updates policies. It should be a Scorer, too.
type Trainer interface {
	// Train is idempotent on the job's ID: a finished job returns its policy, an interrupted one resumes. A job that
	// the trainer cannot honour, such as one with an unknown objective or a missing reference, is an invalid fault.
	Train(ctx context.Context, j Job, p Progress) (Result, error)
	// Adopt reads the policy that the store holds under a digest, and returns its digests. A missing policy, or one of
	// another trainer, is an invalid fault. domain.UntrainedBase means the untrained model that the options name. It
	// may be repeated.
	Adopt(ctx context.Context, digest string, options json.RawMessage) (Result, error)
}
