// Package mind2web plays Mind2Web (docs/method.md): recorded tasks on websites, with candidates for every step. It
// reads the published files, which the user has to download.
package mind2web

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/recorded"
	"github.com/collabui/collabui/fault"
)

// The published test splits. The other splits are train and val, which is a tenth of the training tasks.
const (
	SplitTask    = "cross-task"
	SplitWebsite = "cross-website"
	SplitDomain  = "cross-domain"
)

var splits = []string{domain.SplitTrain, domain.SplitVal, SplitTask, SplitWebsite, SplitDomain}

// Values of the option protocol.
const (
	protocolOfficial = "official"
	protocolList     = "list"
)

// Suite plays the tasks of a folder. It reads the files once to find the tasks, and a task again each time it is
// played, so its memory does not grow with the files.
type Suite struct {
	data     string
	skip     bool
	official bool
	read     func() (index, error)
}

// New returns a suite, which reads its files when they are first needed. It takes three options: data is the folder
// with train, test_task and so on, protocol is official, the default, or list, and broken is skip or stop, the
// default.
func New(options envadapters.Options) (*Suite, error) {
	if options.Data == "" {
		return nil, fault.New(fault.Invalid, "mind2web: data: expected the folder of Mind2Web that holds train, "+
			"test_task, test_website or test_domain")
	}
	if !slices.Contains([]string{"", protocolOfficial, protocolList}, options.Protocol) {
		return nil, fault.New(fault.Invalid, "mind2web: protocol: expected official or list, not %q", options.Protocol)
	}
	skip, err := recorded.Skips("mind2web", options.Broken)
	if err != nil {
		return nil, err
	}

	suite := &Suite{data: options.Data, skip: skip, official: options.Protocol != protocolList}
	suite.read = recorded.Once(suite.load)

	return suite, nil
}

// Name returns the suite's name in specifications.
func (s *Suite) Name() string { return "mind2web" }

// Title returns the benchmark's name.
func (s *Suite) Title() string { return "Mind2Web" }

// Protocol returns how steps are posed and the source of the candidates' ranks.
func (s *Suite) Protocol() string {
	p := "list of 50"
	if s.official {
		p = "official, groups of 5"
	}
	if ix, err := s.read(); err == nil && ix.ranks == nil {
		return p + ", lexical ranks"
	}

	return p + ", given ranks"
}

// Family returns the web family.
func (s *Suite) Family() domain.Family { return domain.FamilyWeb }

// Splits returns the splits for which the folder has tasks.
func (s *Suite) Splits() []string {
	ix, err := s.read()
	if err != nil {
		return nil
	}

	var out []string
	for _, name := range splits {
		if len(ix.splits[name]) > 0 {
			out = append(out, name)
		}
	}

	return out
}

// Templates returns the recorded tasks of a split by their annotation_id. Their groups are websites.
func (s *Suite) Templates(split string) ([]envadapters.Template, error) {
	ix, err := s.read()
	if err != nil {
		return nil, err
	}
	if len(ix.splits[split]) == 0 {
		return nil, fault.New(fault.Invalid, "mind2web has no split %q; it has %s",
			split, strings.Join(s.Splits(), ", "))
	}

	var out []envadapters.Template
	for _, e := range ix.splits[split] {
		template := envadapters.Template{Name: e.id, Group: e.website, MaxSteps: e.steps}
		if s.official {
			template.MaxSteps *= maxQuestions
		}
		out = append(out, template)
	}

	return out, nil
}

// Version returns the digests of the files.
func (s *Suite) Version(context.Context) (string, error) {
	ix, err := s.read()

	return ix.version, err
}

// Open returns an environment at once.
func (s *Suite) Open(context.Context) (envadapters.Environment, error) {
	ix, err := s.read()
	if err != nil {
		return nil, err
	}

	return recorded.NewEnvironment(func(t domain.Task) (recorded.Episode, error) {
		rec, err := ix.task(t.Split, t.Template)
		if err != nil {
			return nil, err
		}
		return &episode{task: rec, ranks: ix.ranks, official: s.official, seed: t.Seed}, nil
	}), nil
}

// Check reads the files.
func (s *Suite) Check(context.Context) envadapters.Health {
	ix, err := s.read()
	if err != nil {
		return envadapters.Health{
			State:  envadapters.Dead,
			Detail: err.Error(),
			Fix: "set data to the folder of Mind2Web (osunlp publishes it; unpack the tests with: " +
				"unzip -P mind2web test.zip), or set broken: skip",
		}
	}

	health := envadapters.Health{State: envadapters.Ready}
	var seen []string
	for _, name := range s.Splits() {
		steps := 0
		for _, e := range ix.splits[name] {
			steps += e.steps
		}
		seen = append(seen, fmt.Sprintf("%s: %d tasks, %d steps", name, len(ix.splits[name]), steps))
	}
	if len(ix.problems) > 0 {
		health.State = envadapters.Degraded
		seen = append(seen, recorded.Summary(ix.problems))
	}
	health.Detail = strings.Join(append(seen, s.Protocol()), "; ")

	return health
}

// Close does nothing.
func (s *Suite) Close() error { return nil }

var (
	_ envadapters.Suite     = (*Suite)(nil)
	_ envadapters.Recorded  = (*Suite)(nil)
	_ envadapters.Versioned = (*Suite)(nil)
)
