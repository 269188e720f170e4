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
	Params    Params
	Seed      uint64
	Workers   int // threads; never changes the result
	Steps     int // optimiser steps in all, instead of those of Params.Passes; 0: as many as the passes have
	Until     int // stop behind this optimiser step and give the policy reached; 0 means all passes
	Every     int // optimiser steps between checkpoints; 0 means the trainer's default

	System  string          // system message of every prompt; the embedded trainer ignores it
	Options json.RawMessage // the trainer's own, as the specification gives them; see trainer/registry
}

// Params are the hyper-parameters (METHOD.md section 4, TRAINERS.md 3.2).
type Params struct {
	LearningRate float64 `json:"learning_rate" yaml:"learning_rate"` // peak; > 0
	Warmup       float64 `json:"warmup" yaml:"warmup"`               // share of the steps, 0..1
	FinalShare   float64 `json:"final_share" yaml:"final_share"`     // of the peak at the end of the cosine, 0..1
	BatchSize    int     `json:"batch_size" yaml:"batch_size"`
	Passes       int     `json:"passes" yaml:"passes"` // over the data set
	Beta         float64 `json:"beta" yaml:"beta"`
	Ftx          float64 `json:"ftx" yaml:"ftx"`
	WeightDecay  float64 `json:"weight_decay" yaml:"weight_decay"`
}

// Progress is told now and then while a job runs.
type Progress func(p Point)

// Point is one optimiser step's figures, means over its batch.
type Point struct {
	Step     int     `json:"step"`
	Steps    int     `json:"steps"`
	Loss     float64 `json:"loss"`
	Margin   float64 `json:"margin,omitempty"`
	Accuracy float64 `json:"accuracy,omitempty"`
	Live     string  `json:"-"` // for people who watch: speed, time left; never kept
}

// Policy is the result of a job.
type Policy struct {
	Digest       string  `json:"digest"`        // of the checkpoint file, by which it is stored and served
	TensorDigest string  `json:"tensor_digest"` // of the parameters alone
	Steps        int     `json:"steps"`
	Curve        []Point `json:"curve"`
	Skipped      int     `json:"skipped"`            // pairs that the trainer cannot express
	Diverged     string  `json:"diverged,omitempty"` // why there is no policy: the loss is no number, or nothing can be trained on
	Report       *Report `json:"report,omitempty"`   // of trainers that run another program
}

// Report says how a policy was made by another program.
type Report struct {
	Command  []string           `json:"command"`
	Versions map[string]string  `json:"versions"`
	Metrics  map[string]float64 `json:"metrics"` // final ones, under the program's names
	Files    []File             `json:"files"`   // of the artifact
	Log      *File              `json:"log,omitempty"`
}

// Trainer updates policies. Train is idempotent on the job's ID: a finished job returns its policy, one half done resumes. A trainer that cannot
// honour a job (an unknown objective, a reference it does not have) refuses it with an invalid fault.
type Trainer interface {
	Train(ctx context.Context, j Job, p Progress) (Policy, error)
	// Adopt reads a policy that stands in the store under a digest, and gives its digests; what is no policy of this trainer is an invalid fault. BaseModel stands for
	// the model that the options name, untrained. It may be repeated.
	Adopt(ctx context.Context, digest string, options json.RawMessage) (Policy, error)
}

// BaseModel stands for a policy that is the base model as it is.
const BaseModel = "model"

// Probe compares a policy with its parent on prompts of its own data set.
type Probe struct {
	Prompts      int            `json:"prompts"`
	KL           float64        `json:"kl"`            // mean of log π − log π_parent on answers sampled from π, in nats
	KLBase       float64        `json:"kl_base"`       // the same against the base policy
	LogprobDelta float64        `json:"logprob_delta"` // mean change of log π(chosen)
	Entropy      float64        `json:"entropy"`       // −mean log π of the sampled answers, in nats
	ParseRate    float64        `json:"parse_rate"`
	Length       float64        `json:"length"`           // mean characters of the sampled answers
	Actions      map[string]int `json:"actions"`          // sampled action types
	Served       bool           `json:"served,omitempty"` // sampled through the policy servers: the KL was not measured; the change of log π(chosen) is the training's own, against the reference
}

// Prober is an optional capability of a trainer.
type Prober interface {
	Probe(ctx context.Context, policy, parent, base string, pairs []domain.Pair, seed uint64) (Probe, error)
}
