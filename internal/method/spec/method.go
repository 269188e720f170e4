package spec

import (
	"path"
	"slices"

	"github.com/collabui/collabui/internal/method/credit"
)

// Edges specifies how the agents are connected.
type Edges string

// Kinds of graphs.
const (
	EdgesRandom Edges = "random"
	EdgesNone   Edges = "none"
)

// Parameters specifies whether agents have separate policies.
type Parameters string

// Values of Parameters.
const (
	ParametersSeparate Parameters = "separate"
	ParametersShared   Parameters = "shared" // one policy, trained on the pairs of all agents
)

// Preference specifies how an epoch's update learns.
type Preference string

// Kinds of updates.
const (
	PreferenceDPO Preference = "dpo"
	PreferenceRFT Preference = "rft" // SFT on an agent's own right answers, each of them once

	PreferenceGRPO Preference = "grpo" // policy gradient on an answer's label relative to the labels of its step
)

// Credit specifies what labels cells.
type Credit string

// Sources of labels.
const (
	CreditCritic  Credit = "critic"
	CreditOutcome Credit = "outcome" // labels follow from the episode's outcome; there is no critic
	// CreditAdvantage labels executed actions by the step's advantage under a value function that is learnt from the
	// outcomes of earlier epochs. In the first epoch, it labels them by the outcome.
	CreditAdvantage Credit = "advantage"
)

// Clones reports whether updates learn from right answers alone. Then no rejected answers are made.
func (s Spec) Clones() bool { return s.Preference == PreferenceRFT }

// LearnsRight reports whether all right answers are rows of their own beside the pairs of an update.
func (s Spec) LearnsRight() bool { return s.Train.SFT > 0 && s.Preference == PreferenceDPO }

// Reference specifies the reference policy of DPO.
type Reference string

// Reference policies.
const (
	ReferenceBase       Reference = "base"
	ReferenceEpochStart Reference = "epoch_start" // the agent's policy at the start of the epoch
)

// Focus gives some training templates a fixed share of an epoch. The other templates divide the remaining slots as they
// would otherwise divide all slots.
type Focus struct {
	Templates []string `json:"templates,omitempty"` // names, or patterns of path.Match such as shop/*
	Share     float64  `json:"share,omitempty"`     // share of the slots, from 0 to 1
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

// Decoding specifies how the agents decode. A seeded permutation distributes the temperatures to them.
type Decoding struct {
	Temperatures []float64 `json:"temperatures"` // one for all agents, or one per agent
	TopP         float64   `json:"top_p"`
	MaxTokens    int       `json:"max_tokens"`
}

// Pairs specifies which pairs are made and kept.
type Pairs struct {
	Kind PairKind `json:"kind"`
	// Cells specifies on which of an agent's prompts its right answers are chosen.
	Cells credit.CellChoice `json:"cells"`
	// Negatives is the maximum number of rejected answers per chosen answer.
	Negatives  int `json:"negatives"`
	PerStep    int `json:"per_step"`
	PerEpisode int `json:"per_episode"`
	MinPairs   int `json:"min_pairs"` // an agent with fewer pairs keeps its policy
	// MaxWeight bounds the weight of a pair. The mean weight is 1.
	MaxWeight float64 `json:"max_weight"`
	// BalanceTypes gives pairs that prefer one action type to another the same total weight as pairs with the opposite
	// preference.
	BalanceTypes bool `json:"balance_types"`
}

// PairKind specifies which answers a pair may compare.
type PairKind string

// Kinds of pairs.
const (
	// PairsPositive compares an agent's right answers with an adversary's wrong ones.
	PairsPositive PairKind = "positive"
	// PairsCorrection also compares a peer's right answers with the agent's own wrong ones.
	PairsCorrection PairKind = "+correction"
	// PairsResist also compares a right answer that an agent gave or read with its wrong answer to the prompt on which
	// it was misled.
	PairsResist PairKind = "+resist"
)

// Gates are checked after an update, on a probe of the agent's own data set. If one fails, the agent keeps the parent
// policy.
type Gates struct {
	Probe int `json:"probe"` // number of prompts
	// MaxKL bounds the mean of log π − log π_parent over sampled answers, in nats.
	MaxKL float64 `json:"max_kl"`
	// MinLogprob bounds the mean change of log π(chosen) from below, in nats.
	MinLogprob float64 `json:"min_logprob"`
	// MinParse is the minimum share of sampled answers that parse, from 0 to 1. 0 turns the gate off.
	MinParse float64 `json:"min_parse"`
	// MaxLength bounds the mean length of sampled answers, as a multiple of the mean length of the chosen answers.
	MaxLength float64 `json:"max_length"`
	// MinEntropy is the minimum mean of −log π over sampled answers, in nats. 0 turns the gate off.
	MinEntropy float64 `json:"min_entropy"`
	// TypeShare is the share of the chosen answers, from 0 to 1, from which an action type must not vanish. It has
	// vanished if none of the answers sampled for its prompts has it, while log π of its chosen answers fell.
	TypeShare float64 `json:"type_share"`
	// MaxValDrop is the largest fall of the rate on val, from 0 to 1, that an epoch may cause. After a larger one, all
	// agents continue with the policies that the epoch's updates began with. 1 turns the gate off.
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

	must.count(s.Prompt.Element, "prompt.element", 10, 100_000)
	must.count(s.Prompt.History, "prompt.history", 1, 10_000)
	must.count(s.Prompt.Line, "prompt.line", 40, 100_000)
	must.count(s.Prompt.Goal, "prompt.goal", 10, 100_000)
	must.count(s.Prompt.Message, "prompt.message", 100, 100_000)
	must.count(s.Prompt.Notes, "prompt.notes", 20, 100_000)
	must.count(s.Prompt.Tokens, "prompt.tokens", 0, 10_000_000)

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
