// Package mixed plays the tasks of several suites, its parts, as one suite. A task is named after its part, such as
// shop/login. Agents see the observations of the part in their own action family, and act in it.
//
// It does no I/O.
package mixed

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
)

// between separates the name of a part from the name of its template.
const between = "/"

// Name returns the name that a template of a part has in a mixed suite.
func Name(part, template string) string { return part + between + template }

// Suite is a mixed suite.
type Suite struct {
	parts map[string]envadapters.Suite
	names []string // the names of the parts, sorted
}

// New returns a suite of at least one part; parts has them by name. Closing the suite closes the parts.
func New(parts map[string]envadapters.Suite) *Suite {
	return &Suite{parts: parts, names: slices.Sorted(maps.Keys(parts))}
}

// Name returns "mixed".
func (s *Suite) Name() string { return "mixed" }

// Title names all parts with their titles.
func (s *Suite) Title() string {
	var titles []string
	for _, name := range s.names {
		titles = append(titles, name+": "+s.parts[name].Title())
	}

	return "mixed (" + strings.Join(titles, "; ") + ")"
}

// Family returns the family of the first part. Environments speak the family of the agents; see envadapters.Speaker.
func (s *Suite) Family() domain.Family { return s.parts[s.names[0]].Family() }

// Splits returns the splits that any part has.
func (s *Suite) Splits() []string {
	var out []string
	for _, name := range s.names {
		for _, split := range s.parts[name].Splits() {
			if !slices.Contains(out, split) {
				out = append(out, split)
			}
		}
	}

	return out
}

// Templates returns the templates of all parts that have the split.
func (s *Suite) Templates(split string) ([]envadapters.Template, error) {
	if !slices.Contains(s.Splits(), split) {
		return nil, fault.New(fault.Invalid, "no split %q; there are %s", split, strings.Join(s.Splits(), ", "))
	}

	var out []envadapters.Template
	for _, name := range s.names {
		if !slices.Contains(s.parts[name].Splits(), split) {
			continue
		}
		templates, err := s.parts[name].Templates(split)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for _, t := range templates {
			t.Name = Name(name, t.Name)
			t.Group = strings.TrimSuffix(name+between+t.Group, between)
			out = append(out, t)
		}
	}
	slices.SortFunc(out, func(a, b envadapters.Template) int { return strings.Compare(a.Name, b.Name) })

	return out, nil
}

// Open returns an environment at once. It waits for a place of a part when it is reset to one of its tasks.
func (s *Suite) Open(context.Context) (envadapters.Environment, error) {
	return &environment{suite: s, agents: s.Family()}, nil
}

// states are ordered from the best to the worst.
var states = []envadapters.HealthState{
	envadapters.Ready, envadapters.Busy, envadapters.Degraded, envadapters.Dead,
}

// Check checks all parts. The state is the worst of their states.
func (s *Suite) Check(ctx context.Context) envadapters.Health {
	all := envadapters.Health{State: envadapters.Ready}
	var details, fixes []string
	for _, name := range s.names {
		health := s.parts[name].Check(ctx)
		if slices.Index(states, health.State) > slices.Index(states, all.State) {
			all.State = health.State
		}
		details = append(details, fmt.Sprintf("%s is %s: %s", name, health.State, health.Detail))
		if health.Fix != "" {
			fixes = append(fixes, name+": "+health.Fix)
		}
	}
	all.Detail = strings.Join(details, "; ")
	all.Fix = strings.Join(fixes, "; ")

	return all
}

// Version returns the versions of all parts that report one.
func (s *Suite) Version(ctx context.Context) (string, error) {
	var versions []string
	for _, name := range s.names {
		versioned, ok := s.parts[name].(envadapters.Versioned)
		if !ok {
			continue
		}
		version, err := versioned.Version(ctx)
		if err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		if version != "" {
			versions = append(versions, name+"="+version)
		}
	}

	return strings.Join(versions, " "), nil
}

// Browser returns the browser of the first part that has one. All of them use the browser of this machine.
func (s *Suite) Browser(ctx context.Context) (string, error) {
	for _, name := range s.names {
		if browsing, ok := s.parts[name].(envadapters.Browsing); ok {
			return browsing.Browser(ctx)
		}
	}

	return "", nil
}

// Figures returns the figures of all parts that have any, by name.
func (s *Suite) Figures() any {
	figures := map[string]any{}
	for _, name := range s.names {
		if metered, ok := s.parts[name].(envadapters.Metered); ok {
			figures[name] = metered.Figures()
		}
	}

	return figures
}

// Close closes all parts.
func (s *Suite) Close() error {
	var errs []error
	for _, name := range s.names {
		errs = append(errs, s.parts[name].Close())
	}

	return errors.Join(errs...)
}

var (
	_ envadapters.Suite     = (*Suite)(nil)
	_ envadapters.Versioned = (*Suite)(nil)
	_ envadapters.Browsing  = (*Suite)(nil)
	_ envadapters.Metered   = (*Suite)(nil)
)

var _ envadapters.Served = (*Suite)(nil)

// Servers returns the states of the servers of all parts.
func (s *Suite) Servers(ctx context.Context) (out []envadapters.Server) {
	for _, name := range s.names {
		if served, ok := s.parts[name].(envadapters.Served); ok {
			out = append(out, served.Servers(ctx)...)
		}
	}

	return out
}
