package spec

import (
	"maps"
	"slices"
	"strings"

	"github.com/collabui/collabui/envadapters"
)

// Where returns the options of an environment by its name in the specification. A suite that is not listed under
// environments has no options besides its name.
func (s Spec) Where(name string) envadapters.Options {
	options := s.Environments[name]
	if options.Suite == "" {
		options.Suite = name
	}

	return options
}

// Recorded reports whether the tasks of an environment of the specification are recorded.
func (s Spec) Recorded(catalog Catalog, name string) bool {
	return catalog.Recorded(s.Where(name).Suite)
}

// checkListed checks the environments that the specification lists.
func (s Spec) checkListed(catalog Catalog, must Must) {
	for _, name := range slices.Sorted(maps.Keys(s.Environments)) {
		field := "environments." + name
		must(runName.MatchString(name), field, "a name of 1 to 40 lower-case letters, digits and dashes")

		err := catalog.CheckEnvironment(s.Where(name))
		must(err == nil, field, "%v", err)
	}
}

// checkEnvironments checks the environments and all references to environments.
func (s Spec) checkEnvironments(catalog Catalog, must Must) {
	s.checkListed(catalog, must)
	s.checkReference(catalog, s.Environment, "environment", must)
	must(s.Credit == CreditCritic || !s.Recorded(catalog, s.Environment), "credit", "critic where tasks are recorded: "+
		"the recorded next page follows whatever the agents do, so an outcome says nothing about a step")
	for i, elsewhere := range s.Evaluation.OutOfDistribution {
		s.checkReference(catalog, elsewhere.Environment, elsewhereField(i)+".environment", must)
	}
}

// checkReference checks the name of an environment, which is a suite or a name under environments.
func (s Spec) checkReference(catalog Catalog, name, field string, must Must) {
	if _, listed := s.Environments[name]; listed {
		return
	}
	if suites := catalog.EnvironmentNames(); !slices.Contains(suites, name) {
		must(false, field, "one of %s, or a name under environments, not %q", strings.Join(suites, ", "), name)
		return
	}

	err := catalog.CheckEnvironment(s.Where(name))
	must(err == nil, field, "options under environments.%s: %v", name, err)
}
