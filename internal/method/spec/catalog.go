package spec

import (
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
)

// Catalog knows the environments and trainers of a build. Specifications are checked against it; package
// workers/catalog has that of this build.
type Catalog interface {
	// EnvironmentNames returns the names of all suites.
	EnvironmentNames() []string
	// CheckEnvironment returns an error that says what is wrong with a suite's options.
	CheckEnvironment(envadapters.Options) error
	// Recorded reports whether a suite's tasks are recorded: whatever the agents do, the recorded next page follows.
	Recorded(suite string) bool

	// TrainerNames returns the names of all trainers.
	TrainerNames() []string
	// Trainer returns the rules of a trainer, and whether there is one of that name.
	Trainer(name string) (TrainerRules, bool)
}

// TrainerRules says what a trainer accepts.
type TrainerRules struct {
	// Options holds the trainer's options with their defaults: a struct with JSON names. nil: it has none.
	Options any
	// Check reports impossible options, which have the type of Options. nil: all are possible.
	Check func(options any, must Must, d Demand)
	// LanguageModels says that the policies are language models: they speak both action families, in their own words.
	LanguageModels bool
	// Objectives are those of trainer.Objective that the trainer has. nil: it has sft and dpo.
	Objectives []string
	// Losses are the losses of preference optimisation that the trainer has. nil: it has all.
	Losses []domain.Loss
}

// Demand is what a specification asks of its trainer besides the options.
type Demand struct {
	Batches   []int // rows of an optimiser step, of every kind of job
	OnePolicy bool  // all agents share one policy
}
