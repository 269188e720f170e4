// Package autowebbench plays AutoWebBench (docs/method.md): recorded steps on web pages in English and Chinese. It
// reads the published files, which the user has to download.
package autowebbench

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/recorded"
	"github.com/collabui/collabui/fault"
)

// Suite plays the records of its files. Consecutive records with the same task form an episode, whose steps do not
// depend on each other.
type Suite struct {
	data string
	skip bool
	read func() (index, error)
}

// New returns a suite, which reads its files when they are first needed. It takes two options: data is a test.json or a
// folder with such files, and broken is skip or stop, the default.
func New(options envadapters.Options) (*Suite, error) {
	if options.Data == "" {
		return nil, fault.New(fault.Invalid, "autowebbench: data: expected a test.json of AutoWebBench, "+
			"or a folder with en/ind/test.json and the like")
	}
	skip, err := recorded.Skips("autowebbench", options.Broken)
	if err != nil {
		return nil, err
	}

	suite := &Suite{data: options.Data, skip: skip}
	suite.read = recorded.Once(suite.load)

	return suite, nil
}

// Name returns the suite's name in specifications.
func (s *Suite) Name() string { return "autowebbench" }

// Title returns the benchmark's name.
func (s *Suite) Title() string { return "AutoWebBench" }

// Protocol returns how steps are posed and scored: the agents see the elements of the recorded simplified page.
func (s *Suite) Protocol() string { return "autowebglm, ssr-all-records" }

// Family returns the web family.
func (s *Suite) Family() domain.Family { return domain.FamilyWeb }

// Splits returns one name per file: its path below the folder without test.json, such as en-ind.
func (s *Suite) Splits() []string {
	ix, err := s.read()
	if err != nil {
		return nil
	}

	return slices.Sorted(maps.Keys(ix.splits))
}

// Templates returns the recorded tasks of a file. The step budget of a task is its number of records.
func (s *Suite) Templates(name string) ([]envadapters.Template, error) {
	ix, err := s.read()
	if err != nil {
		return nil, err
	}
	sp, ok := ix.splits[name]
	if !ok {
		return nil, fault.New(fault.Invalid, "autowebbench has no split %q; it has %s",
			name, strings.Join(s.Splits(), ", "))
	}

	var out []envadapters.Template
	for i, steps := range sp.episodes {
		out = append(out, envadapters.Template{Name: fmt.Sprintf("%04d", i+1), Group: name, MaxSteps: len(steps)})
	}

	return out, nil
}

// Version returns the digests of the files.
func (s *Suite) Version(context.Context) (string, error) {
	ix, err := s.read()
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(ix.splits)) {
		parts = append(parts, name+" sha256:"+ix.splits[name].digest)
	}

	return strings.Join(parts, ", "), err
}

// Open returns an environment at once.
func (s *Suite) Open(context.Context) (envadapters.Environment, error) {
	if _, err := s.read(); err != nil {
		return nil, err
	}

	return recorded.NewEnvironment(s.episode), nil
}

func (s *Suite) episode(task domain.Task) (recorded.Episode, error) {
	ix, err := s.read()
	if err != nil {
		return nil, err
	}

	episodes := ix.splits[task.Split].episodes
	var n int
	if _, err := fmt.Sscanf(task.Template, "%04d", &n); err != nil || n < 1 || n > len(episodes) {
		return nil, fault.New(fault.Invalid, "autowebbench has no task %q in split %q", task.Template, task.Split)
	}

	return &episode{steps: episodes[n-1]}, nil
}

// Check reads the files.
func (s *Suite) Check(context.Context) envadapters.Health {
	ix, err := s.read()
	if err != nil {
		return envadapters.Health{
			State:  envadapters.Dead,
			Detail: err.Error(),
			Fix: "set data to a test.json of AutoWebBench (THUDM/AutoWebGLM publishes the files), " +
				"or set broken: skip",
		}
	}

	health := envadapters.Health{State: envadapters.Ready}
	var seen []string
	for _, name := range s.Splits() {
		seen = append(seen, fmt.Sprintf("%s: %d records", name, ix.splits[name].records))
	}
	if len(ix.problems) > 0 {
		health.State = envadapters.Degraded
		seen = append(seen, recorded.Summary(ix.problems))
	}
	health.Detail = strings.Join(seen, "; ")

	return health
}

// Close does nothing.
func (s *Suite) Close() error { return nil }

var (
	_ envadapters.Suite     = (*Suite)(nil)
	_ envadapters.Recorded  = (*Suite)(nil)
	_ envadapters.Versioned = (*Suite)(nil)
)
