// Package spec defines the specification of a run: one YAML file that is decoded strictly over documented defaults. A
// Catalog lists the environments and trainers of a build.
//
// It does no I/O. It links no browser driver. It links no Temporal.
package spec

import (
	"encoding/json"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/credit"
)

// Spec is the specification of one run. Two runs with equal specifications that train the embedded policy have the
// same final digest.
type Spec struct {
	// Name names the run's workflow and its folder in the store.
	Name string `json:"name"`
	// Seed seeds everything but evaluation.
	Seed uint64 `json:"seed"`
	// Labels are for people and for filters.
	Labels map[string]string `json:"labels,omitempty"`
	// Environment is what the run trains on: a suite, or a name under Environments.
	Environment string `json:"environment"`
	// Actions is the action family that the agents speak. Actions are translated for environments of the other family.
	Actions domain.Family `json:"actions"`
	// Environments holds suites with their options, under names that the file chooses.
	Environments map[string]envadapters.Options `json:"environments,omitempty"`

	Agents int `json:"agents"` // n
	Rounds int `json:"rounds"` // m
	Epochs int `json:"epochs"` // K
	Slots  int `json:"slots"`  // episodes per epoch
	// Staleness is the number of updates by which the policies of rollouts lag, 0 or 1. With 1, an epoch's rollouts use
	// the policies with which the previous epoch's updates began, and run while those updates are trained.
	Staleness int `json:"staleness,omitempty"`
	// Window is a quarter of the number of an epoch's episodes that are open concurrently: up to four shards are open
	// at a time. 0 lets the program choose.
	Window int `json:"window,omitempty"`
	// Screenshots keeps screenshots of rollouts and evaluations for people. Observation specifies what agents see.
	Screenshots bool `json:"screenshots,omitempty"`
	// Quarantine lists training templates from which no slot is drawn.
	Quarantine []string `json:"quarantine,omitempty"`
	// Focus gives some training templates a share of the slots.
	Focus    Focus    `json:"focus,omitzero"`
	Decoding Decoding `json:"decoding"`

	// Observation specifies in which form agents see a screen.
	Observation agents.Presentation `json:"observation"`
	// Views specifies what each agent sees of a screen.
	Views agents.Views `json:"views"`
	// Speech lets agents speak instead of acting. It is on by default where views are divided.
	Speech bool `json:"speech"`
	// Reads specifies whose messages an agent reads. The default is agents.ReadBack where views are divided.
	Reads agents.Reads `json:"reads"`

	// Answers specifies how the agents' answers are read.
	Answers   agents.Parsing   `json:"answers"`
	VoteScope agents.VoteScope `json:"vote_scope"`
	Edges     Edges            `json:"edges"`
	// EdgeUpdate draws a new graph for every epoch. Without it, all epochs keep the first graph.
	EdgeUpdate bool       `json:"edge_update"`
	Parameters Parameters `json:"parameters"`
	Preference Preference `json:"preference"`
	Credit     Credit     `json:"credit"`

	// Models holds chat endpoints by the names under which roles refer to them.
	Models map[Role]Model `json:"models,omitempty"`
	Budget Budget         `json:"budget"`
	// Prompt bounds what is put into the prompts of agents, critics and other roles. Its defaults depend on the
	// trainer.
	Prompt agents.Limits `json:"prompt"`
	// Prompts holds templates by role. A file contains the name of a template's file, and a Spec the template's text.
	Prompts map[string]string `json:"prompts,omitempty"`

	Critic     Critic     `json:"critic"`
	Adversary  Adversary  `json:"adversary"`
	Summariser Summariser `json:"summariser"`

	Pairs     Pairs              `json:"pairs"`
	Reference Reference          `json:"reference"`
	Train     domain.TrainParams `json:"train"`
	Trainer   Trainer            `json:"trainer"`
	Serving   Serving            `json:"serving"`
	FineTune  FineTune           `json:"finetune"`
	Synthesis Synthesis          `json:"synthesis"`
	Gates     Gates              `json:"gates"`

	Evaluation Evaluation `json:"evaluation"`
	// FailedShare is the share, from 0 to 1, of failed slots, refused prompts, useless answers of a chat model, or
	// missing tasks of val above which the run waits for a person's decision.
	FailedShare float64 `json:"failed_share"`
}

// Default returns the defaults of docs/method.md, scaled to the size of the embedded policy.
func Default() Spec {
	return Spec{
		Seed:        1,
		Environment: "webtasks",
		Actions:     domain.FamilyMobile,
		Agents:      4,
		Rounds:      3,
		Epochs:      4,
		Slots:       200,
		Decoding:    Decoding{Temperatures: []float64{0.2, 0.5, 0.6, 0.8}, TopP: 0.8, MaxTokens: 1000},

		Prompt:      agents.SmallLimits,
		Observation: agents.Presentation{Kind: agents.AsText, Pixels: 262144},

		Views:      agents.Views{Kind: agents.FullViews},
		Reads:      agents.ReadDAG,
		Answers:    agents.Usual,
		VoteScope:  agents.ScopeAll,
		Edges:      EdgesRandom,
		EdgeUpdate: true,
		Parameters: ParametersSeparate,
		Preference: PreferenceDPO,
		Credit:     CreditCritic,

		Critic: Critic{
			Model: RoleOracle, Rule: RuleRobust, Scope: ScopeStep, Messages: MessagesByEffect, Asks: 100,
		},
		Summariser: Summariser{Model: RoleTemplate, Notes: NotesNone},
		Adversary:  Adversary{Model: RolePolicy, Temperature: 1, TopP: 1, Candidates: 4},

		Pairs: Pairs{
			Kind: PairsPositive, Cells: credit.FirstCells, Negatives: 4, PerStep: 8, PerEpisode: 32, MinPairs: 32,
			MaxWeight: 3,
		},
		Reference: ReferenceEpochStart,
		Train: domain.TrainParams{
			LearningRate: 1e-3, Warmup: 0.1, FinalShare: 0.1, BatchSize: 16, Passes: 2,
			Loss: domain.LossDPO, Beta: 1, Smoothing: 0.1, Clip: 0.2,
		},
		Trainer:   Trainer{Name: Embedded},
		Serving:   Serving{Canaries: 8},
		FineTune:  defaultFineTune(),
		Synthesis: defaultSynthesis(),
		Gates:     Gates{Probe: 64, MaxKL: 5, MinLogprob: -2, MinParse: 0.95, MaxLength: 3, TypeShare: 0.03},
		Evaluation: Evaluation{
			Seed: 2024, Val: 100, TestSeeds: 150, TestTemplates: 150, TestApps: 150, Every: 1, Base: true,
		},
		FailedShare: 0.1,
	}
}

// UnmarshalJSON reads a stored specification over the defaults. A stored specification omits a smoothing of 0.
func (s *Spec) UnmarshalJSON(data []byte) error {
	type plain Spec
	d := plain(Default())
	d.Train.Smoothing = 0
	d.FineTune.Preference.Smoothing = 0
	if err := json.Unmarshal(data, &d); err != nil {
		return err
	}
	*s = Spec(d)

	return nil
}

// Family returns the action family of the run's agents.
func (s Spec) Family() domain.Family { return s.Actions }

// Temperatures returns the temperature of every agent in training, evaluation and inference. They are drawn once from
// the run's seed: an agent is trained on answers at its temperature, so it keeps that temperature.
func (s Spec) Temperatures() []float64 {
	t := s.Decoding.Temperatures
	out := make([]float64, s.Agents)
	perm := domain.Rand(s.Seed, "temperatures").Perm(s.Agents)
	for i := range out {
		out[i] = t[perm[i]%len(t)]
	}

	return out
}
