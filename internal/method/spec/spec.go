// Package spec is the run specification: one YAML file, decoded strictly, with documented defaults. It knows the method's terms and the names of environments.
package spec

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
)

// Spec is one run. Two runs with equal specifications and the embedded defaults have the same final digest.
type Spec struct {
	Name        string        `json:"name" yaml:"name"`               // letters, digits and dashes; names the workflow and the folder in the store
	Seed        uint64        `json:"seed" yaml:"seed"`               // of everything but evaluation
	Environment string        `json:"environment" yaml:"environment"` // that is trained on: a suite, or a name under environments
	Actions     domain.Family `json:"actions" yaml:"actions"`         // what the agents speak: mobile, or web where the policies are language models; where an environment takes the other family, actions are translated

	Environments map[string]envadapters.Options `json:"environments,omitempty" yaml:"environments"` // suites with options, by a name of one's own
	Agents       int                            `json:"agents" yaml:"agents"`                       // n
	Rounds       int                            `json:"rounds" yaml:"rounds"`                       // m
	Epochs       int                            `json:"epochs" yaml:"epochs"`                       // K
	Slots        int                            `json:"slots" yaml:"slots"`                         // episodes per epoch
	Decoding     Decoding                       `json:"decoding" yaml:"decoding"`
	VoteScope    string                         `json:"vote_scope" yaml:"vote_scope"`     // all_rounds | last_round
	ViewDropout  float64                        `json:"view_dropout" yaml:"view_dropout"` // share of elements that each agent misses
	Edges        string                         `json:"edges" yaml:"edges"`               // random | none
	EdgeUpdate   bool                           `json:"edge_update" yaml:"edge_update"`   // a new graph per epoch
	Parameters   string                         `json:"parameters" yaml:"parameters"`     // separate | shared
	Preference   string                         `json:"preference" yaml:"preference"`     // dpo | rft
	Credit       string                         `json:"credit" yaml:"credit"`             // critic | outcome
	Models       map[string]Model               `json:"models,omitempty" yaml:"models"`   // chat endpoints by name
	Budget       Budget                         `json:"budget" yaml:"budget"`
	Prompts      map[string]string              `json:"prompts,omitempty" yaml:"prompts"` // by role: a file with a template of its own; stored as its text
	Critic       Critic                         `json:"critic" yaml:"critic"`
	Adversary    Adversary                      `json:"adversary" yaml:"adversary"`
	Summariser   Summariser                     `json:"summariser" yaml:"summariser"`
	Pairs        Pairs                          `json:"pairs" yaml:"pairs"`
	Reference    string                         `json:"reference" yaml:"reference"` // base | epoch_start
	Train        Train                          `json:"train" yaml:"train"`
	Trainer      Trainer                        `json:"trainer" yaml:"trainer"`
	Serving      Serving                        `json:"serving" yaml:"serving"`
	FineTune     FineTune                       `json:"finetune" yaml:"finetune"`
	Synthesis    Synthesis                      `json:"synthesis" yaml:"synthesis"`
	Gates        Gates                          `json:"gates" yaml:"gates"`
	Evaluation   Evaluation                     `json:"evaluation" yaml:"evaluation"`
	FailedShare  float64                        `json:"failed_share" yaml:"failed_share"` // share of failed slots at which an epoch stops
}

// Decoding of the agents. Temperatures are dealt to the agents by a seeded permutation.
type Decoding struct {
	Temperatures  []float64 `json:"temperatures" yaml:"temperatures"`
	TopP          float64   `json:"top_p" yaml:"top_p"`
	MaxTokens     int       `json:"max_tokens" yaml:"max_tokens"`
	ShareThoughts bool      `json:"share_thoughts" yaml:"share_thoughts"` // peers read what a reasoning model thought, too; else only its answer
}

// Critic grades every cell (METHOD.md section 4).
type Critic struct {
	Model string  `json:"model" yaml:"model"`           // oracle: the environment's judge, privileged | a model
	Rule  string  `json:"rule" yaml:"rule"`             // robust: 1 at 0.7, 0 at 0.3, ∅ between | paper: 1 at 0.5, else 0
	Scope string  `json:"scope" yaml:"scope"`           // step: all cells in one call | round: a call per round
	Error float64 `json:"error,omitempty" yaml:"error"` // of the oracle: share of labels that are turned round at random; 0.5 is pure noise
}

// Adversary samples plausible wrong answers.
type Adversary struct {
	Model       string  `json:"model" yaml:"model"` // policy: the agent's own, at high temperature | a model
	Temperature float64 `json:"temperature" yaml:"temperature"`
	TopP        float64 `json:"top_p" yaml:"top_p"`
	Candidates  int     `json:"candidates" yaml:"candidates"` // K
}

// Summariser writes the history's line of a step.
type Summariser struct {
	Model string `json:"model" yaml:"model"` // template: fixed rules | a model
}

// Pairs says which pairs are made and kept.
type Pairs struct {
	Kind       string `json:"kind" yaml:"kind"` // positive | +correction
	PerStep    int    `json:"per_step" yaml:"per_step"`
	PerEpisode int    `json:"per_episode" yaml:"per_episode"`
	MinPairs   int    `json:"min_pairs" yaml:"min_pairs"` // an agent with fewer keeps its policy
}

// Train are the hyper-parameters of preference optimisation.
type Train = domain.TrainParams

// Gates after an update, on a probe of the agent's own data set. A breach keeps the parent policy.
type Gates struct {
	Probe      int     `json:"probe" yaml:"probe"`             // prompts
	MaxKL      float64 `json:"max_kl" yaml:"max_kl"`           // mean of log π − log π_parent on sampled answers, in nats
	MinLogprob float64 `json:"min_logprob" yaml:"min_logprob"` // mean change of log π(chosen) must not fall below
	MaxLength  float64 `json:"max_length" yaml:"max_length"`   // mean length of sampled answers, as a multiple of the chosen ones'
	MinEntropy float64 `json:"min_entropy" yaml:"min_entropy"` // −mean log π of sampled answers, in nats; 0: no gate
	TypeShare  float64 `json:"type_share" yaml:"type_share"`   // an action type with this share of the chosen answers must not vanish from the sampled ones
}

// Evaluation says what is evaluated. Its seed is never derived from the run's, so that systems can be compared pairwise.
type Evaluation struct {
	Seed          uint64 `json:"seed" yaml:"seed"`
	Val           int    `json:"val" yaml:"val"` // episodes
	TestSeeds     int    `json:"test_seeds" yaml:"test_seeds"`
	TestTemplates int    `json:"test_templates" yaml:"test_templates"`
	Every         int    `json:"every" yaml:"every"` // epochs between evaluations on val

	OutOfDistribution []Elsewhere `json:"out_of_distribution,omitempty" yaml:"out_of_distribution"` // what the base and the best system play at the end, beside the run's own environment
}

// Elsewhere is an evaluation on another environment.
type Elsewhere struct {
	Environment string `json:"environment" yaml:"environment"` // a suite, or a name under environments
	Split       string `json:"split" yaml:"split"`
	Episodes    int    `json:"episodes" yaml:"episodes"` // 0: every template once
}

// Default is METHOD.md's defaults at the size of the embedded policy.
func Default() Spec {
	return Spec{
		Seed: 1, Environment: "webtasks", Actions: domain.FamilyMobile, Agents: 4, Rounds: 3, Epochs: 4, Slots: 200,
		Decoding:  Decoding{Temperatures: []float64{0.2, 0.5, 0.6, 0.8}, TopP: 0.8, MaxTokens: 1000},
		VoteScope: "all_rounds", Edges: "random", EdgeUpdate: true, Parameters: "separate", Preference: "dpo", Credit: "critic", Critic: Critic{Model: RoleOracle, Rule: "robust", Scope: "step"},
		Summariser: Summariser{Model: RoleTemplate},
		Adversary:  Adversary{Model: RolePolicy, Temperature: 2, TopP: 1, Candidates: 4},
		Pairs:      Pairs{Kind: "positive", PerStep: 2, PerEpisode: 8, MinPairs: 32}, Reference: "base",
		Trainer:   Trainer{Name: Embedded},
		Train:     Train{LearningRate: 1e-3, Warmup: 0.1, FinalShare: 0.1, BatchSize: 16, Passes: 2, Beta: 0.1, Ftx: 0.1},
		Synthesis: Synthesis{Agent: RoleExpert, Author: RoleTemplate, Screens: 400, KeepFirst: 0.2, Questions: 6, Instructions: 6, Pairs: 4000},
		FineTune:  FineTune{Steps: LevelSteps{40, 80, 80, 40}, Preference: domain.TrainParams{LearningRate: 1e-3, Warmup: 0.1, FinalShare: 0.1, BatchSize: 16, Passes: 1, Beta: 0.1, Ftx: 0.1}, Demonstrations: 340, MessageShare: 0.4, ChunkSteps: 20, MaxChunks: 50, StopLow: 0.40, StopHigh: 0.55, Train: domain.TrainParams{LearningRate: 2e-3, Warmup: 0.05, FinalShare: 1, BatchSize: 16, Passes: 20}},
		Gates:     Gates{Probe: 64, MaxKL: 5, MinLogprob: -2, MaxLength: 3, TypeShare: 0.2}, Evaluation: Evaluation{Seed: 2024, Val: 100, TestSeeds: 150, TestTemplates: 150, Every: 1}, FailedShare: 0.1,
	}
}

// UnmarshalJSON reads a stored specification over the defaults: one that an older version wrote lacks the keys that came later.
func (s *Spec) UnmarshalJSON(b []byte) error {
	type plain Spec
	d := plain(Default())
	if err := json.Unmarshal(b, &d); err != nil {
		return err
	}
	*s = Spec(d)
	return nil
}

var runName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$`)

// problem is one impossible value.
type problem struct{ field, expected string }

// Check says which values are impossible; the zero-length answer means none.
func (s Spec) check() []problem {
	var out []problem
	must := func(ok bool, field, expected string, args ...any) {
		if !ok {
			out = append(out, problem{field, fmt.Sprintf(expected, args...)})
		}
	}
	oneOf := func(v, field string, allowed ...string) {
		must(slices.Contains(allowed, v), field, "one of %v, not %q", allowed, v)
	}
	within := func(v float64, field string, lo, hi float64) {
		must(v >= lo && v <= hi, field, "a number from %v to %v, not %v", lo, hi, v)
	}
	count := func(v int, field string, lo, hi int) {
		must(v >= lo && v <= hi, field, "a whole number from %d to %d, not %d", lo, hi, v)
	}
	must(runName.MatchString(s.Name), "name", "1 to 40 lower-case letters, digits and dashes, not %q", s.Name)
	s.checkEnvironments(must)
	s.checkTrainer(must)
	count(s.Agents, "agents", 1, 16)
	count(s.Rounds, "rounds", 1, 8)
	count(s.Epochs, "epochs", 0, 1000)
	count(s.Slots, "slots", 1, 9999)
	must(len(s.Decoding.Temperatures) == s.Agents || len(s.Decoding.Temperatures) == 1, "decoding.temperatures", "one number, or one per agent (%d), not %d", s.Agents, len(s.Decoding.Temperatures))
	for _, t := range s.Decoding.Temperatures {
		within(t, "decoding.temperatures", 0, 10)
	}
	within(s.Decoding.TopP, "decoding.top_p", 0.01, 1)
	count(s.Decoding.MaxTokens, "decoding.max_tokens", 1, 100000)
	oneOf(s.VoteScope, "vote_scope", "all_rounds", "last_round")
	within(s.ViewDropout, "view_dropout", 0, 0.9)
	oneOf(s.Edges, "edges", "random", "none")
	oneOf(s.Parameters, "parameters", "separate", "shared")
	oneOf(s.Preference, "preference", "dpo", "rft")
	oneOf(s.Credit, "credit", "critic", "outcome")
	oneOf(s.Critic.Rule, "critic.rule", "robust", "paper")
	oneOf(s.Critic.Scope, "critic.scope", "step", "round")
	within(s.Critic.Error, "critic.error", 0, 0.5)
	must(s.Critic.Error == 0 || s.Critic.Model == RoleOracle && s.Credit == "critic", "critic.error", "0 where the critic is not the oracle")
	s.checkModels(must)
	within(s.Adversary.Temperature, "adversary.temperature", 0, 100)
	within(s.Adversary.TopP, "adversary.top_p", 0.01, 1)
	count(s.Adversary.Candidates, "adversary.candidates", 1, 64)
	oneOf(s.Pairs.Kind, "pairs.kind", "positive", "+correction")
	count(s.Pairs.PerStep, "pairs.per_step", 1, 100)
	count(s.Pairs.PerEpisode, "pairs.per_episode", 1, 1000)
	count(s.Pairs.MinPairs, "pairs.min_pairs", 1, 1000000)
	oneOf(s.Reference, "reference", "base", "epoch_start")
	for _, t := range []struct {
		name string
		p    domain.TrainParams
	}{{"train", s.Train}, {"finetune.train", s.FineTune.Train}, {"finetune.preference", s.FineTune.Preference}} {
		within(t.p.LearningRate, t.name+".learning_rate", 1e-9, 1)
		within(t.p.Warmup, t.name+".warmup", 0, 1)
		within(t.p.FinalShare, t.name+".final_share", 0, 1)
		count(t.p.BatchSize, t.name+".batch_size", 1, 4096)
		count(t.p.Passes, t.name+".passes", 1, 1000)
		within(t.p.Beta, t.name+".beta", 0, 100)
		within(t.p.Ftx, t.name+".ftx", 0, 100)
		within(t.p.WeightDecay, t.name+".weight_decay", 0, 1)
	}
	must(s.Preference != "dpo" || s.Train.Beta > 0, "train.beta", "a number above 0 for dpo")
	s.checkLevels(must)
	count(s.FineTune.Demonstrations, "finetune.demonstrations", 1, 9999)
	within(s.FineTune.MessageShare, "finetune.message_share", 0, 1)
	count(s.FineTune.ChunkSteps, "finetune.chunk_steps", 1, 100000)
	count(s.FineTune.MaxChunks, "finetune.max_chunks", 1, 1000)
	within(s.FineTune.StopLow, "finetune.stop_low", 0, 1)
	within(s.FineTune.StopHigh, "finetune.stop_high", s.FineTune.StopLow, 1)
	count(s.Gates.Probe, "gates.probe", 1, 10000)
	within(s.Gates.MaxKL, "gates.max_kl", 0, 1000)
	within(s.Gates.MinLogprob, "gates.min_logprob", -1000, 0)
	within(s.Gates.MaxLength, "gates.max_length", 1, 1000)
	within(s.Gates.MinEntropy, "gates.min_entropy", 0, 1000)
	within(s.Gates.TypeShare, "gates.type_share", 0.01, 1)
	count(s.Evaluation.Val, "evaluation.val", 1, 9999)
	count(s.Evaluation.TestSeeds, "evaluation.test_seeds", 0, 9999)
	count(s.Evaluation.TestTemplates, "evaluation.test_templates", 0, 9999)
	count(s.Evaluation.Every, "evaluation.every", 1, 1000)
	within(s.FailedShare, "failed_share", 0, 1)
	return out
}

// Family is the action family of the run's agents.
func (s Spec) Family() domain.Family { return s.Actions }

// Temperatures gives every agent its temperature by a permutation drawn from the run's seed.
func (s Spec) Temperatures() []float64 { return s.temperatures(s.Seed) }

// EvaluationTemperatures are dealt by the evaluation's seed: systems of several experiments decode alike on the same episodes.
func (s Spec) EvaluationTemperatures() []float64 { return s.temperatures(s.Evaluation.Seed) }

func (s Spec) temperatures(seed uint64) []float64 {
	t := s.Decoding.Temperatures
	out := make([]float64, s.Agents)
	perm := domain.Rand(seed, "temperatures").Perm(s.Agents)
	for i := range out {
		out[i] = t[perm[i]%len(t)]
	}
	return out
}

// Validate is check as one error, for specifications that did not come from a file.
func (s Spec) Validate() error {
	if p := s.check(); len(p) > 0 {
		return fault.New(fault.Invalid, "%s: expected %s", p[0].field, p[0].expected)
	}
	return nil
}
