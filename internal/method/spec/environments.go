package spec

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/registry"
)

// Where gives the options of an environment by its name in the specification; those of a suite that stands nowhere under environments name the suite only.
func (s Spec) Where(name string) envadapters.Options {
	o := s.Environments[name]
	if o.Suite == "" {
		o.Suite = name
	}
	return o
}

// Recorded tells whether an environment's tasks are recorded ones, teacher-forced.
func (s Spec) Recorded(name string) bool {
	e, _ := registry.Find(s.Where(name).Suite)
	return e.Recorded
}

// checkEnvironments says which environments are impossible.
func (s Spec) checkEnvironments(must func(ok bool, field, expected string, args ...any)) {
	for _, name := range slices.Sorted(maps.Keys(s.Environments)) {
		field := "environments." + name
		must(runName.MatchString(name), field, "a name of 1 to 40 lower-case letters, digits and dashes")
		if err := registry.Check(s.Where(name)); err != nil {
			must(false, field, "%v", err)
		}
	}
	known := func(name, field string) {
		_, given := s.Environments[name]
		if given {
			return
		}
		if _, ok := registry.Find(name); !ok {
			must(false, field, "one of %s, or a name under environments, not %q", strings.Join(registry.Names(), ", "), name)
		} else if err := registry.Check(s.Where(name)); err != nil {
			must(false, field, "options under environments.%s: %v", name, err)
		}
	}
	known(s.Environment, "environment")
	must(s.Credit != "outcome" || !s.Recorded(s.Environment), "credit", "critic where tasks are recorded: whatever is done there, the recorded next page follows, so an outcome says nothing of a step")
	for i, x := range s.Evaluation.OutOfDistribution {
		field := fmt.Sprintf("evaluation.out_of_distribution[%d]", i)
		known(x.Environment, field+".environment")
		must(x.Split != "", field+".split", "the name of a split; `collabui envs list` has them")
		must(x.Episodes >= 0 && x.Episodes <= 9999, field+".episodes", "a whole number from 0 (every template once) to 9999, not %d", x.Episodes)
		for j := range i {
			must(s.Evaluation.OutOfDistribution[j].Environment != x.Environment || s.Evaluation.OutOfDistribution[j].Split != x.Split, field, "each environment and split once")
		}
	}
}
