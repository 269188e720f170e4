// Package trainer is the contract between the system and what updates policies: the embedded trainer (trainer/tiny) or a GPU trainer. It knows only domain.
package trainer

import (
	"context"
	"encoding/json"

	"github.com/collabui/collabui/domain"
)

// Objectives.
const (
	SFT = "sft" // raise log π(chosen | prompt)
	DPO = "dpo" // METHOD.md section 4: preference optimisation
)

// Job is one update of one policy. Its result is a function of the job alone.
type Job struct {
	ID        string // also the name under which checkpoints stand
	Start     string // digest of the policy to start from; "" draws a new one from Seed
	Reference string // digest of the reference policy (dpo)
	Objective string
	Pairs     []domain.Pair // in their fixed order; sft uses prompt and chosen
	Params    domain.TrainParams
	Seed      uint64
	Workers   int // threads; never changes the result
	Steps     int // optimiser steps in all, instead of those of Params.Passes; 0: as many as the passes have
	Until     int // stop behind this optimiser step and give the policy reached; 0 means all passes
	Every     int // optimiser steps between checkpoints; 0 means the trainer's default

	System  string          // system message of every prompt; the embedded trainer ignores it
	Options json.RawMessage // the trainer's own, as the specification gives them; see trainer/registry
}

// Progress is told now and then while a job runs.
type Progress func(p domain.TrainPoint)

// Result is the result of a job.
type Result struct {
	Digest       string              `json:"digest"`        // of the checkpoint file, by which it is stored and served
	TensorDigest string              `json:"tensor_digest"` // of the parameters alone
	Steps        int                 `json:"steps"`
	Curve        []domain.TrainPoint `json:"curve"`
	Skipped      int                 `json:"skipped"`            // pairs that the trainer cannot express
	Diverged     string              `json:"diverged,omitempty"` // why there is no policy: the loss is no number, or nothing can be trained on
	Report       *domain.TrainReport `json:"report,omitempty"`   // of trainers that run another program
}

// Trainer updates policies. Train is idempotent on the job's ID: a finished job returns its policy, one half done resumes. A trainer that cannot
// honour a job (an unknown objective, a reference it does not have) refuses it with an invalid fault.
type Trainer interface {
	Train(ctx context.Context, j Job, p Progress) (Result, error)
	// Adopt reads a policy that stands in the store under a digest, and gives its digests; what is no policy of this trainer is an invalid fault. domain.UntrainedBase stands for
	// the model that the options name, untrained. It may be repeated.
	Adopt(ctx context.Context, digest string, options json.RawMessage) (Result, error)
}

// Prober is an optional capability of a trainer.
type Prober interface {
	Probe(ctx context.Context, policy, parent, base string, pairs []domain.Pair, seed uint64) (domain.Probe, error)
}
