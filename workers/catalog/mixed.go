package catalog

import (
	"fmt"
	"maps"
	"slices"

	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/mixed"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/spec"
)

// The mixed suite opens others, so the list of all cannot have it from the start.
func init() {
	environments = append(environments, Environment{
		Name:  suiteMixed,
		About: "the tasks of several other environments, its parts",
		Takes: []string{"parts"},
		Must:  []string{"parts"},
		Get:   "name the parts, such as parts: {desk: {suite: webtasks}, shop: {suite: openenv, servers: […]}}",
		Open:  openMixed,
	})
}

const suiteMixed = "mixed"

func openMixed(options envadapters.Options, places Places) (envadapters.Suite, error) {
	parts := map[string]envadapters.Suite{}
	for _, name := range slices.Sorted(maps.Keys(options.Parts)) {
		part, err := OpenEnvironment(options.Part(name), places)
		if err != nil {
			for _, opened := range parts {
				_ = opened.Close()
			}

			return nil, fmt.Errorf("parts.%s: %w", name, err)
		}
		parts[name] = part
	}

	return mixed.New(parts), nil
}

// checkParts returns what is wrong with the parts of a mixed suite.
func checkParts(options envadapters.Options) error {
	for _, name := range slices.Sorted(maps.Keys(options.Parts)) {
		part := options.Part(name)
		if !spec.IsName(name) {
			return fault.New(fault.Invalid, "parts.%s: expected a name of 1 to 40 lower-case letters, digits and "+
				"dashes: tasks are named after it", name)
		}
		if err := CheckEnvironment(part); err != nil {
			return fault.New(fault.Invalid, "parts.%s: %w", name, err)
		}
		if environment, _ := FindEnvironment(part.Suite); environment.Recorded || environment.Name == suiteMixed {
			return fault.New(fault.Invalid, "parts.%s: expected a suite whose episodes are played, not %s",
				name, part.Suite)
		}
	}

	return nil
}
