package runs

import (
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/credit"
	"github.com/collabui/collabui/internal/store"
)

// Start claims an attempt at a slot.
type Start struct {
	By
	Slot    domain.Slot `json:"slot"`
	Attempt int         `json:"attempt"`
}

// Step is one environment step, recorded before it is executed.
type Step struct {
	By
	domain.Step
	ObservationDigest string `json:"observation_digest"`
	// Image is the screenshot, if the specification keeps screenshots. No digest depends on it.
	Image *store.Ref `json:"image,omitempty"`
	// Touch is where the previous step's action touched the screen: steps are recorded before they are executed. No
	// digest depends on it. It is missing if the environment does not know the place.
	Touch *domain.Touch `json:"touch,omitempty"`
}

// Screen is the screen at the end of an episode.
type Screen struct {
	Observation domain.Observation `json:"observation"`
	Image       *store.Ref         `json:"image,omitempty"` // the screenshot, if the specification keeps any
	Touch       *domain.Touch      `json:"touch,omitempty"` // where the last action reached its screen, if it is known
}

// Episode is the end of an attempt at a slot: an episode, or a void attempt. It is one object, so an attempt cannot end
// twice.
type Episode struct {
	By
	Slot     domain.Slot    `json:"slot"`
	Attempt  int            `json:"attempt"`
	Goal     string         `json:"goal"`
	System   int            `json:"system"` // version
	Topology store.Ref      `json:"topology"`
	Steps    []store.Ref    `json:"steps"`
	Outcome  domain.Outcome `json:"outcome"`
	Digest   string         `json:"digest"` // see StepsDigest

	// End is the screen after the last step. It is missing if the environment shows no such screen.
	End *Screen `json:"end,omitempty"`

	// Failed states why the slot has no episode.
	Failed string `json:"failed,omitempty"`

	// Void states why the attempt shows nothing about the agents. The next attempt follows. TaskBad means that the task
	// is at fault: the next attempt plays a replacement.
	Void    string `json:"void,omitempty"`
	TaskBad bool   `json:"task_bad,omitempty"`
}

// Credits are the reward matrices of an episode.
type Credits struct {
	Episode store.Ref       `json:"episode"`
	Critic  string          `json:"critic"`
	Steps   []domain.Credit `json:"steps"`
	Audit   []credit.Audit  `json:"audit,omitempty"` // audit of a model critic

	// Heard are the calls that label messages by their effects: readers that answer to other messages, and answers in
	// the place of a pass. HeardAudit is the audit of a model critic on these answers.
	Heard      []Call         `json:"heard,omitempty"`
	HeardAudit []credit.Audit `json:"heard_audit,omitempty"`
}

// Pairs are the preference pairs of an episode.
type Pairs struct {
	Episode store.Ref         `json:"episode"`
	Credit  store.Ref         `json:"credit"`
	Calls   []Call            `json:"calls"`
	Pairs   []domain.Example  `json:"pairs"`
	Counts  credit.PairCounts `json:"counts"`
	Audit   []credit.Audit    `json:"audit,omitempty"` // audit of a model critic on the candidates

	// Heard are the calls of readers that answer to candidates in the place of messages. HeardAudit is the audit of a
	// model critic on these answers.
	Heard      []Call         `json:"heard,omitempty"`
	HeardAudit []credit.Audit `json:"heard_audit,omitempty"`
}

// Call is one call of the adversary, or of an agent that answers again.
type Call struct {
	Step  int      `json:"step"`
	Agent int      `json:"agent"`
	Round int      `json:"round"`
	Model string   `json:"model"`
	Seed  uint64   `json:"seed"`
	Texts []string `json:"texts"`
	// LogProbs are the log probabilities of the texts under the agent's policy, in nats, if the policy itself proposes.
	LogProbs []float64    `json:"logprobs,omitempty"`
	Usage    domain.Usage `json:"usage"`
	Refused  string       `json:"refused,omitempty"` // why the model refused the call
}
