package spec

import (
	"path"
	"slices"

	"github.com/collabui/collabui/internal/method/credit"
)

// Edges says how the agents are connected.
type Edges string

// Kinds of graphs.
const (
	EdgesRandom Edges = "random"
	EdgesNone   Edges = "none"
)

// Parameters says whether agents have separate policies.
type Parameters string

// Parameters of the agents.
const (
	ParametersSeparate Parameters = "separate"
	ParametersShared   Parameters = "shared" // one policy, trained on the pairs of all agents
)

// Preference says how an epoch's update learns.
type Preference string

// Kinds of updates.
const (
	PreferenceDPO Preference = "dpo"
	PreferenceRFT Preference = "rft" // SFT on positive cells

	PreferenceGRPO Preference = "grpo" // policy gradient: an answer's label against those of all answers of its step
)

// Credit says what labels cells.
type Credit string

// Sources of labels.
const (
	CreditCritic  Credit = "critic"
	CreditOutcome Credit = "outcome" // every cell gets its episode's outcome; there is no critic
	// CreditAdvantage labels what was executed by the step's advantage under a value that is learnt from the outcomes
	// of earlier epochs; in the first, by the outcome.
	CreditAdvantage Credit = "advantage"
)

// Clones reports whether updates clone what was executed, without a critic. Nothing need have been answered otherwise.
func (s Spec) Clones() bool { return s.Credit != CreditCritic && s.Preference == PreferenceRFT }

// Reference says which policy DPO compares with.
type Reference string

// Reference policies.
const (
	ReferenceBase       Reference = "base"
	ReferenceEpochStart Reference = "epoch_start" // the agent's policy at the start of the epoch
)

// Focus says which training templates get how much of an epoch. All others share the rest as they would the whole.
type Focus struct {
	Templates []string `json:"templates,omitempty"` // names or patterns of path.Match, such as shop/*
	Share     float64  `json:"share,omitempty"`     // of the slots, from 0 to 1
}

// Has reports whether a template is in focus.
func (f Focus) Has(template string) bool {
	return slices.ContainsFunc(f.Templates, func(pattern string) bool {
		ok, err := path.Match(pattern, template)

		return pattern == template || err == nil && ok
	})
}

func (f Focus) check(must Must) {
	must.within(f.Share, "focus.share", 0, 1)
	for _, text := range f.Templates {
		_, err := path.Match(text, "")
		must(err == nil, "focus.templates", "names of templates, or patterns such as shop/*, not %q", text)
	}
}

// Decoding says how the agents decode. A seeded permutation deals the temperatures to them.
type Decoding struct {
	Temperatures []float64 `json:"temperatures"` // one for all agents, or one per agent
	TopP         float64   `json:"top_p"`
	MaxTokens    int       `json:"max_tokens"`
}

// Pairs says which pairs are made and kept.
type Pairs struct {
	Kind PairKind `json:"kind"`
	// Cells says on which of an agent's prompts its right answers are chosen.
	Cells credit.CellChoice `json:"cells"`
	// Negatives is the most rejected answers of one chosen answer.
	Negatives  int `json:"negatives"`
	PerStep    int `json:"per_step"`
	PerEpisode int `json:"per_episode"`
	MinPairs   int `json:"min_pairs"` // an agent with fewer pairs keeps its policy
	// MaxWeight bounds a pair's weight; the mean is 1.
	MaxWeight float64 `json:"max_weight"`
	// BalanceTypes makes pairs that prefer one action type to another weigh as much as those that prefer the other.
	BalanceTypes bool `json:"balance_types"`
}

// PairKind says what a pair may compare.
type PairKind string

// Kinds of pairs.
const (
	// PairsPositive are an agent's right answers against an adversary's wrong ones.
	PairsPositive PairKind = "positive"
	// PairsCorrection adds a peer's right answers against the agent's own wrong ones.
	PairsCorrection PairKind = "+correction"
)

// Gates are checked after an update, on a probe of the agent's own data set. A breach keeps the parent policy.
type Gates struct {
	Probe int `json:"probe"` // prompts
	// MaxKL bounds the mean of log π − log π_parent over sampled answers, in nats.
	MaxKL float64 `json:"max_kl"`
	// MinLogprob bounds the mean change of log π(chosen) from below, in nats.
	MinLogprob float64 `json:"min_logprob"`
	// MinParse bounds the share of sampled answers that parse from below, from 0 to 1. 0 turns the gate off.
	MinParse float64 `json:"min_parse"`
	// MaxLength bounds the mean length of sampled answers, as a multiple of that of the chosen ones.
	MaxLength float64 `json:"max_length"`
	// MinEntropy bounds the mean of −log π over sampled answers from below, in nats. 0 turns the gate off.
	MinEntropy float64 `json:"min_entropy"`
	// TypeShare is the share of the chosen answers from which an action type must not vanish: that none of the sampled
	// answers to its prompts has it, while log π of the chosen ones fell.
	TypeShare float64 `json:"type_share"`
	// MaxValDrop is the most by which the rate on val, from 0 to 1, may fall in an epoch. Otherwise all agents go on
	// with the policies that the epoch's updates began with. 1 turns the gate off.
	MaxValDrop float64 `json:"max_val_drop"`
}

// checkMethod checks the system, its decoding, its pairs and its gates.
func (s Spec) checkMethod(must Must) {
	must.count(s.Agents, "agents", 1, 16)
	must.count(s.Rounds, "rounds", 1, 8)
	must.count(s.Epochs, "epochs", 0, 1000)
	must.count(s.Slots, "slots", 1, 9999)

	n := len(s.Decoding.Temperatures)
	must(n == s.Agents || n == 1, "decoding.temperatures", "one number, or one per agent (%d), not %d", s.Agents, n)
	for _, t := range s.Decoding.Temperatures {
		must.within(t, "decoding.temperatures", 0, 10)
	}
	must.within(s.Decoding.TopP, "decoding.top_p", 0.01, 1)
	must.count(s.Decoding.MaxTokens, "decoding.max_tokens", 1, 100000)

	must.count(s.Pairs.Negatives, "pairs.negatives", 1, 64)
	must.within(s.Pairs.MaxWeight, "pairs.max_weight", 1, 1000)
	must.count(s.Pairs.PerStep, "pairs.per_step", 1, 100)
	must.count(s.Pairs.PerEpisode, "pairs.per_episode", 1, 1000)
	must.count(s.Pairs.MinPairs, "pairs.min_pairs", 1, 1000000)

	must.count(s.Gates.Probe, "gates.probe", 1, 10000)
	must.within(s.Gates.MaxKL, "gates.max_kl", 0, 1000)
	must.within(s.Gates.MinLogprob, "gates.min_logprob", -1000, 0)
	must.within(s.Gates.MinParse, "gates.min_parse", 0, 1)
	must.within(s.Gates.MaxLength, "gates.max_length", 1, 1000)
	must.within(s.Gates.MinEntropy, "gates.min_entropy", 0, 1000)
	must.within(s.Gates.TypeShare, "gates.type_share", 0.01, 1)
	must.within(s.Gates.MaxValDrop, "gates.max_val_drop", 0, 1)
	must.count(s.Staleness, "staleness", 0, 1)
	must(s.Staleness == 0 || s.Preference != PreferenceGRPO, "staleness", "0 with preference: grpo, which learns from "+
		"answers of the policies that it trains, not %d", s.Staleness)
	must.within(s.FailedShare, "failed_share", 0, 1)
}
