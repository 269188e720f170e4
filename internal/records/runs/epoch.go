package runs

import (
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/credit"
	"github.com/collabui/collabui/internal/store"
)

// Slots is the plan of an epoch.
type Slots struct {
	By
	Epoch  int           `json:"epoch"`
	System System        `json:"system"` // the system that plays the rollouts
	Prompt string        `json:"prompt"` // digest of the agents' template
	Slots  []domain.Slot `json:"slots"`
}

// Made records the conditions that must be the same on all workers of an epoch, so that its digest does not depend on
// the workers.
type Made struct {
	Prompts string `json:"prompts"`           // digest of the templates of all roles
	Kernel  string `json:"kernel,omitempty"`  // the arithmetic of the embedded policy
	Browser string `json:"browser,omitempty"` // browser that draws the pages
	Version string `json:"version,omitempty"` // version of the environment's data or pages, if it states one

	Code string `json:"code,omitempty"` // revision of the program that began it; others may continue it

	Inventory *store.Ref `json:"inventory,omitempty"` // a blob: an Inventory of the environment

	Began time.Time `json:"began,omitzero"` // when the run began; only in the record before the first epoch

	Changes int `json:"changes,omitempty"` // how many changes by people count in the epoch
	Epoch   int `json:"epoch,omitempty"`   // the last epoch, in the record of a run's end
}

// SlotRefs refers to the outcome of a slot.
type SlotRefs struct {
	Slot    int       `json:"slot"`
	Episode store.Ref `json:"episode"`
	Credit  store.Ref `json:"credit"`
	Pairs   store.Ref `json:"pairs"`
}

// Dataset is the training data of one agent.
type Dataset struct {
	Agent int         `json:"agent"`
	Body  store.Ref   `json:"body"` // a blob: JSON list of pairs
	Count int         `json:"count"`
	Card  credit.Card `json:"card"`
}

// Value is a value function learnt from the episodes of earlier epochs.
type Value struct {
	Model    *store.Ref `json:"model,omitempty"` // a blob; nil if there were no earlier episodes
	Episodes int        `json:"episodes"`
	Steps    int        `json:"steps"`
}

// Update is the end of one agent's update.
type Update struct {
	By
	Agent   int                 `json:"agent"`
	Parent  Policy              `json:"parent"`
	Policy  Policy              `json:"policy"` // equal to the parent if the parent was kept
	Dataset store.Ref           `json:"dataset"`
	Kept    string              `json:"kept,omitempty"` // why the parent was kept
	Steps   int                 `json:"steps"`
	Skipped int                 `json:"skipped"`
	Without []int               `json:"without,omitempty"` // rows of the data set, from 1, that people left out
	Curve   []domain.TrainPoint `json:"curve,omitempty"`
	Probe   domain.Probe        `json:"probe"`
	Report  *domain.TrainReport `json:"report,omitempty"` // report of a trainer that ran another program

	Canaries *Canaries  `json:"canaries,omitempty"`       // of the policy that was trained
	Served   domain.Gap `json:"train_serve_gap,omitzero"` // between trainer and servers, when it was first published
	Played   domain.Gap `json:"rollout_gap,omitzero"`     // between trainer and rollouts, on answers of the parent
}

// Canaries are answers that a trainer has scored with the weights that it saved. Whenever the policy is published,
// every server must give them the same scores.
type Canaries struct {
	System    string           `json:"system,omitempty"`    // message of all prompts
	Precision domain.Precision `json:"precision,omitempty"` // of the trainer
	Rows      []Canary         `json:"rows,omitempty"`
	Unknown   string           `json:"unknown,omitempty"` // why there are none
}

// Canary is one answer with its score.
type Canary struct {
	Prompt  string  `json:"prompt"`
	Image   string  `json:"image,omitempty"` // digest of its picture
	Answer  string  `json:"answer"`
	LogProb float64 `json:"logprob"` // summed over the answer's tokens, at temperature 1
	Tokens  int     `json:"tokens"`  // of the answer
	Before  int     `json:"prompt_tokens,omitempty"`
	IDs     string  `json:"ids,omitempty"` // chat.TokensDigest of prompt and answer
}

// Epoch is the commit of an epoch. It refers to everything that belongs to the epoch, with its hash.
type Epoch struct {
	Number    int         `json:"number"`
	Parent    store.Ref   `json:"parent"` // the epoch before, or the result of stage 1
	Topology  store.Ref   `json:"topology"`
	Slots     store.Ref   `json:"slots"`
	Episodes  []SlotRefs  `json:"episodes"`
	Updates   []store.Ref `json:"updates"`
	System    System      `json:"system"`         // the system that plays the next rollouts
	Kept      string      `json:"kept,omitempty"` // why the next epoch keeps this epoch's system
	Rollouts  Result      `json:"rollouts"`       // result on training tasks, with the decoding of rollouts
	Pairs     int         `json:"pairs"`
	Val       *Result     `json:"val,omitempty"`
	Digest    string      `json:"digest"` // digest of EpochParts; the last one is the run's final digest
	FailedAll int         `json:"failed_slots"`
	Accepted  string      `json:"accepted,omitempty"` // who accepted the epoch without the failed slots, and why
}
