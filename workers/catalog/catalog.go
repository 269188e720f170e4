// Package catalog lists the environments and trainers of this build: what each is, which options it takes and how to
// open it. It is the only package that imports all of them. Your own are files in this package, such as own_panel.go,
// whose init function appends to environments or trainers; `collabui envs new NAME` writes one.
//
// It links no Temporal.
package catalog

import (
	"slices"

	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/internal/method/spec"
)

// All is everything in this build, as specifications are checked against it.
type All struct{}

var _ spec.Catalog = All{}

// EnvironmentNames returns the names of all environments.
func (All) EnvironmentNames() []string { return EnvironmentNames() }

// CheckEnvironment is CheckEnvironment of this package.
func (All) CheckEnvironment(options envadapters.Options) error { return CheckEnvironment(options) }

// Recorded reports whether a suite's tasks are recorded.
func (All) Recorded(suite string) bool {
	environment, ok := FindEnvironment(suite)

	return ok && environment.Recorded
}

// TrainerNames returns the names of all trainers.
func (All) TrainerNames() []string {
	var out []string
	for _, trainer := range trainers {
		out = append(out, trainer.Name)
	}

	return out
}

// Trainer returns the rules of a trainer, and whether there is one of that name.
func (All) Trainer(name string) (spec.TrainerRules, bool) {
	i := slices.IndexFunc(trainers, func(trainer Trainer) bool { return trainer.Name == name })
	if i < 0 {
		return spec.TrainerRules{}, false
	}

	return trainers[i].Rules, true
}
