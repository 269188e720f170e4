package spec

import (
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
)

// Catalog lists the environments and trainers of a build. Specifications are checked against it. Package
// workers/catalog implements it for this build.
type Catalog interface {
	// EnvironmentNames returns the names of all suites.
	EnvironmentNames() []string
	// CheckEnvironment returns an error that explains what is wrong with a suite's options, or nil.
	CheckEnvironment(envadapters.Options) error
	// Recorded reports whether a suite's tasks are recorded: the recorded next page follows regardless of the agents'
	// actions.
	Recorded(suite string) bool

	// TrainerNames returns the names of all trainers.
	TrainerNames() []string
	// Trainer returns the rules of a trainer. It returns false if the build has no trainer of that name.
	Trainer(name string) (TrainerRules, bool)
}

// TrainerRules specifies what a trainer accepts.
type TrainerRules struct {
	// Options holds the trainer's options with their defaults, as a struct with JSON names. If nil, the trainer has no
	// options.
	Options any
	// Check reports impossible options, which have the type of Options. If nil, all options are possible.
	Check func(options any, must Must, d Demand)
	// LanguageModels reports whether the policies are language models, which speak both action families in their own
	// words.
	LanguageModels bool
	// Pictures reports whether policies can be trained on pictures, which they then see.
	Pictures bool
	// Objectives lists the objectives of trainer.Objective that the trainer supports. If nil, it supports sft and dpo.
	Objectives []string
	// Losses lists the losses of preference optimisation that the trainer supports. If nil, it supports all.
	Losses []domain.Loss
}

// Demand is what a specification requires of its trainer besides the options.
type Demand struct {
	Batches   []int // rows per optimiser step, for every kind of job
	OnePolicy bool  // all agents share one policy
}
