// Package runs holds what a run leaves in the store: the types of its objects, their keys, and every way to read them.
package runs

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/credit"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/method/stats"
	"github.com/collabui/collabui/internal/method/synth"
	"github.com/collabui/collabui/internal/store"
)

// Policy names one agent's parameters.
type Policy struct {
	Digest string `json:"digest"`        // of the checkpoint blob
	Tensor string `json:"tensor_digest"` // of the parameters alone
}

// System is the n policies that are rolled out, evaluated and promoted together.
type System struct {
	Version  int      `json:"version"` // the epoch that made it; 0 is the base policy n times
	Policies []Policy `json:"policies"`
}

// Digests lists the policies' names.
func (s System) Digests() []string {
	out := make([]string, len(s.Policies))
	for i, p := range s.Policies {
		out[i] = p.Digest
	}
	return out
}

// Chunk is one piece of stage 1: of demonstrations so many optimiser steps in all, of levels one stage. Number 0 is a policy that was given.
type Chunk struct {
	Number  int        `json:"number"`
	Stage   string     `json:"stage,omitempty"` // of levels
	Steps   int        `json:"steps"`           // optimiser steps of all chunks so far
	Policy  Policy     `json:"policy"`
	Loss    float64    `json:"loss"`
	Skipped int        `json:"skipped,omitempty"` // rows that the trainer cannot express
	Level   *store.Ref `json:"level,omitempty"`   // the data set

	Report *domain.TrainReport `json:"report,omitempty"` // of a trainer that ran another program
}

// Trajectory is one training task as the UI agent of stage 1 played it.
type Trajectory struct {
	Slot    domain.Slot    `json:"slot"`
	Goal    string         `json:"goal"`
	Screens []synth.Screen `json:"screens"`
	Success bool           `json:"success"`
}

// LevelPlan says which screens a level is made of: trajectory and place in it, in that order; and what became of the others.
type LevelPlan struct {
	Level  int              `json:"level"`
	Picks  [][2]int         `json:"picks"`
	Counts synth.ItemCounts `json:"counts"` // screens only
}

// LevelSet is the data set of a level.
type LevelSet struct {
	Body store.Ref  `json:"body"` // JSON list of pairs, a blob
	Card synth.Card `json:"card"`
}

// Demonstration is one training task as the expert played it.
type Demonstration struct {
	Slot  domain.Slot   `json:"slot"`
	Pairs []domain.Pair `json:"pairs"` // prompt and chosen only
}

// Base is the end of stage 1.
type Base struct {
	Policy    Policy      `json:"policy"`
	Chunk     store.Ref   `json:"chunk"`
	Curve     []EvalPoint `json:"curve"` // success on val after each chunk
	InBand    bool        `json:"in_band"`
	StoppedBy string      `json:"stopped_by"`
}

// EvalPoint is one figure of a curve.
type EvalPoint struct {
	At   int     `json:"at"`
	Rate float64 `json:"rate"`
}

// Slots is the plan of an epoch.
type Slots struct {
	Epoch  int           `json:"epoch"`
	System System        `json:"system"` // that rolls out
	Prompt string        `json:"prompt"` // digest of the agents' template
	Slots  []domain.Slot `json:"slots"`
}

// Start claims an attempt at a slot.
type Start struct {
	Slot    domain.Slot `json:"slot"`
	Attempt int         `json:"attempt"`
}

// Step is one environment step, recorded before it is executed.
type Step struct {
	domain.Step
	ObservationDigest string `json:"observation_digest"`
}

// Episode is the end of an attempt at a slot: an episode, or a void attempt. It is one object, so that an attempt cannot end twice.
type Episode struct {
	Slot     domain.Slot    `json:"slot"`
	Attempt  int            `json:"attempt"`
	Goal     string         `json:"goal"`
	System   int            `json:"system"` // version
	Topology store.Ref      `json:"topology"`
	Steps    []store.Ref    `json:"steps"`
	Outcome  domain.Outcome `json:"outcome"`
	Digest   string         `json:"digest"`             // over what the steps say, see StepsDigest
	Failed   string         `json:"failed,omitempty"`   // the slot has no episode: why
	Void     string         `json:"void,omitempty"`     // the attempt says nothing about the agents: why; the next attempt follows
	TaskBad  bool           `json:"task_bad,omitempty"` // void by the task's fault: the next attempt plays a replacement
}

// Credits are the reward matrices of an episode.
type Credits struct {
	Episode store.Ref       `json:"episode"`
	Critic  string          `json:"critic"`
	Steps   []domain.Credit `json:"steps"`
	Audit   []credit.Audit  `json:"audit,omitempty"` // of a critic that is a model
}

// Answer is one recorded call to a chat endpoint: what was asked stands in the digest that names it.
type Answer struct {
	Endpoint  string       `json:"endpoint"` // its name in the specification
	Model     string       `json:"model"`
	Role      string       `json:"role"`
	Prompt    string       `json:"prompt"` // digest of the role's template
	Version   string       `json:"prompt_version"`
	Texts     []string     `json:"texts"`
	Reasoning []string     `json:"reasoning,omitempty"`
	LogProbs  []float64    `json:"logprobs,omitempty"`
	Usage     domain.Usage `json:"usage"`
	Cost      float64      `json:"cost"` // by the specification's prices
}

// Change is what a person changed of a run, with all values that can be changed as they stand from then on.
type Change struct {
	Who    string      `json:"who"`
	Why    string      `json:"why"`
	Budget spec.Budget `json:"budget"`
}

// Call is one recorded model call of the adversary.
type Call struct {
	Step  int          `json:"step"`
	Agent int          `json:"agent"`
	Round int          `json:"round"`
	Model string       `json:"model"`
	Seed  uint64       `json:"seed"`
	Texts []string     `json:"texts"`
	Usage domain.Usage `json:"usage"`
}

// Pairs are the preference pairs of an episode.
type Pairs struct {
	Episode store.Ref         `json:"episode"`
	Credit  store.Ref         `json:"credit"`
	Calls   []Call            `json:"calls"`
	Pairs   []domain.Pair     `json:"pairs"`
	Counts  credit.PairCounts `json:"counts"`
	Audit   []credit.Audit    `json:"audit,omitempty"` // of the candidates, by a critic that is a model
}

// Dataset is what one agent is trained on.
type Dataset struct {
	Agent int         `json:"agent"`
	Body  store.Ref   `json:"body"` // JSON list of pairs, a blob
	Count int         `json:"count"`
	Card  credit.Card `json:"card"`
}

// Update is the end of one agent's update.
type Update struct {
	Agent   int                 `json:"agent"`
	Parent  Policy              `json:"parent"`
	Policy  Policy              `json:"policy"` // the parent's where it was kept
	Dataset store.Ref           `json:"dataset"`
	Kept    string              `json:"kept,omitempty"` // why the parent was kept
	Steps   int                 `json:"steps"`
	Skipped int                 `json:"skipped"`
	Curve   []domain.TrainPoint `json:"curve,omitempty"`
	Probe   domain.Probe        `json:"probe"`
	Report  *domain.TrainReport `json:"report,omitempty"` // of a trainer that ran another program
}

// EvalEpisode is one evaluated task.
type EvalEpisode struct {
	Task     domain.Task    `json:"task"`
	Topology int            `json:"topology"`
	Outcome  domain.Outcome `json:"outcome"`
}

// Result is a rate with its Wilson interval at 95 %.
type Result struct {
	System    string  `json:"system"`
	Split     string  `json:"split"`
	Episodes  int     `json:"episodes"`
	Successes int     `json:"successes"`
	Missing   int     `json:"missing"` // unresolved faults, not counted in Episodes
	Rate      float64 `json:"rate"`
	Low       float64 `json:"low"`
	High      float64 `json:"high"`
	Decoding  string  `json:"decoding"`

	Where // of another environment than the run's, or of a recorded one
}

// NewResult fills rate and interval.
func NewResult(system, split string, k, n, missing int, decoding string) Result {
	r := Result{System: system, Split: split, Episodes: n, Successes: k, Missing: missing, Decoding: decoding}
	if n > 0 {
		r.Rate = float64(k) / float64(n)
		r.Low, r.High = stats.Wilson(k, n)
	}
	return r
}

// SlotRefs ties a slot to what became of it.
type SlotRefs struct {
	Slot    int       `json:"slot"`
	Episode store.Ref `json:"episode"`
	Credit  store.Ref `json:"credit"`
	Pairs   store.Ref `json:"pairs"`
}

// Epoch is the commit of an epoch: references to and hashes of all of it.
type Epoch struct {
	Number    int         `json:"number"`
	Parent    store.Ref   `json:"parent"` // the epoch before, or base.json
	Topology  store.Ref   `json:"topology"`
	Slots     store.Ref   `json:"slots"`
	Episodes  []SlotRefs  `json:"episodes"`
	Updates   []store.Ref `json:"updates"`
	System    System      `json:"system"`
	Rollouts  Result      `json:"rollouts"` // of training tasks, with the sampling policy
	Pairs     int         `json:"pairs"`
	Val       *Result     `json:"val,omitempty"`
	Digest    string      `json:"digest"` // chained: what final_digest is after the last epoch
	FailedAll int         `json:"failed_slots"`
}

// End is the result of a run.
type End struct {
	Epoch       store.Ref   `json:"epoch"` // the last commit
	Best        int         `json:"best"`  // the epoch with the highest rate on val, ties to the earlier
	Results     []Result    `json:"results"`
	Curve       []EvalPoint `json:"curve"` // val by epoch, from 0
	FinalDigest string      `json:"final_digest"`
}

// Digest is the hex SHA-256 of a value's canonical JSON.
func Digest(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // plain values only
	}
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// stepDigest is the part of a step that is promised equal between runs: not usage, time or place.
type stepDigest struct {
	Observation string
	Prompts     []string
	Texts       []string
	Executed    domain.Action
}

// StepsDigest is an episode's digest.
func StepsDigest(steps []Step) string {
	var all []stepDigest
	for _, s := range steps {
		d := stepDigest{Observation: s.ObservationDigest, Executed: s.Decision.Executed}
		for _, c := range s.Decision.Cells {
			d.Prompts, d.Texts = append(d.Prompts, Digest(c.Prompt)), append(d.Texts, c.Text)
		}
		all = append(all, d)
	}
	return Digest(all)
}

// EpochParts are the inputs of an epoch's digest, in slot order.
type EpochParts struct {
	Parent   string
	Topology domain.Topology
	Slots    []domain.Slot
	Episodes []string // digests
	Labels   [][]domain.Credit
	Pairs    [][]domain.Pair
	Tensors  []string
}
