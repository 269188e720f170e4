// Package mind2web plays Mind2Web (METHOD.md section 5) from the published files, which the user names: recorded tasks on websites, with candidates for every step.
package mind2web

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/recorded"
	"github.com/collabui/collabui/fault"
)

// Splits beside train and val: the published tests. Val is a tenth of the training tasks.
const (
	SplitTask    = "cross-task"
	SplitWebsite = "cross-website"
	SplitDomain  = "cross-domain"
)

// folders of the published files by split.
var folders = map[string]string{"train": domain.SplitTrain, "test_task": SplitTask, "test_website": SplitWebsite, "test_domain": SplitDomain}

// Suite plays the tasks of a folder. Files are read once to find the tasks; a task is read again when it is played, so that memory does not grow with the files.
type Suite struct {
	data     string
	skip     bool
	official bool
	read     func() (index, error)
}

// index says where the tasks stand.
type index struct {
	splits   map[string][]entry
	ranks    ranking
	problems []recorded.Problem
	version  string
}

type entry struct {
	id, website string
	steps       int
	at          recorded.Where
}

// New reads nothing yet. Options: data, the folder with train/ and test_task/ and the like; protocol, official (default) or list; broken, skip or stop (default).
func New(o envadapters.Options) (*Suite, error) {
	if o.Data == "" {
		return nil, fault.New(fault.Invalid, "mind2web: data: expected the folder of Mind2Web that holds train, test_task, test_website or test_domain")
	}
	if !slices.Contains([]string{"", "official", "list"}, o.Protocol) {
		return nil, fault.New(fault.Invalid, "mind2web: protocol: expected official or list, not %q", o.Protocol)
	}
	skip, err := recorded.Skips("mind2web", o.Broken)
	if err != nil {
		return nil, err
	}
	s := &Suite{data: o.Data, skip: skip, official: o.Protocol != "list"}
	s.read = sync.OnceValues(s.load)
	return s, nil
}

// Name is the suite's name in specifications.
func (s *Suite) Name() string { return "mind2web" }

// Title is the benchmark's name.
func (s *Suite) Title() string { return "Mind2Web" }

// Protocol says how steps are posed and where the ranks of the candidates come from.
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

// Family is the web action family.
func (s *Suite) Family() domain.Family { return domain.FamilyWeb }

// Splits are those whose files are there.
func (s *Suite) Splits() []string {
	ix, err := s.read()
	if err != nil {
		return nil
	}
	var out []string
	for _, name := range []string{domain.SplitTrain, domain.SplitVal, SplitTask, SplitWebsite, SplitDomain} {
		if len(ix.splits[name]) > 0 {
			out = append(out, name)
		}
	}
	return out
}

// Templates lists the recorded tasks of a split by their annotation_id; groups are websites.
func (s *Suite) Templates(split string) ([]envadapters.Template, error) {
	ix, err := s.read()
	if err != nil {
		return nil, err
	}
	if len(ix.splits[split]) == 0 {
		return nil, fault.New(fault.Invalid, "mind2web has no split %q; it has %s", split, strings.Join(s.Splits(), ", "))
	}
	var out []envadapters.Template
	for _, e := range ix.splits[split] {
		t := envadapters.Template{Name: e.id, Group: e.website, MaxSteps: e.steps}
		if s.official {
			t.MaxSteps *= maxQuestions
		}
		out = append(out, t)
	}
	return out, nil
}

// Version is a digest of the files.
func (s *Suite) Version(context.Context) (string, error) {
	ix, err := s.read()
	return ix.version, err
}

// Open never waits.
func (s *Suite) Open(context.Context) (envadapters.Environment, error) {
	ix, err := s.read()
	if err != nil {
		return nil, err
	}
	return recorded.NewEnvironment(func(t domain.Task) (recorded.Episode, error) {
		i, ok := slices.BinarySearchFunc(ix.splits[t.Split], t.Template, func(e entry, id string) int { return strings.Compare(e.id, id) })
		if !ok {
			return nil, fault.New(fault.Invalid, "mind2web has no task %q in split %q", t.Template, t.Split)
		}
		raw, err := recorded.At(ix.splits[t.Split][i].at)
		if err != nil {
			return nil, err
		}
		rec, err := parseTask(raw)
		if err != nil {
			return nil, fault.New(fault.Corrupt, "%v: %w", ix.splits[t.Split][i].at, err)
		}
		return &episode{task: rec, ranks: ix.ranks, official: s.official, seed: t.Seed}, nil
	}), nil
}

// Check reads the files.
func (s *Suite) Check(context.Context) envadapters.Health {
	ix, err := s.read()
	if err != nil {
		return envadapters.Health{State: envadapters.Dead, Detail: err.Error(), Fix: "name the folder of Mind2Web as data (osunlp publishes it; the tests are unpacked with: unzip -P mind2web test.zip), or set broken: skip"}
	}
	h := envadapters.Health{State: envadapters.Ready}
	for _, name := range s.Splits() {
		steps := 0
		for _, e := range ix.splits[name] {
			steps += e.steps
		}
		h.Detail += fmt.Sprintf("%s: %d tasks, %d steps; ", name, len(ix.splits[name]), steps)
	}
	for _, p := range ix.problems {
		h.State, h.Detail = envadapters.Degraded, h.Detail+fmt.Sprintf("skipped %v: %v; ", p.Where, p.Err)
	}
	h.Detail += s.Protocol()
	return h
}

// Close does nothing.
func (s *Suite) Close() error { return nil }

func (s *Suite) load() (index, error) {
	ix := index{splits: map[string][]entry{}}
	var err error
	if ix.ranks, err = readRanks(s.data); err != nil {
		return ix, err
	}
	err = filepath.WalkDir(s.data, func(path string, d fs.DirEntry, err error) error {
		if os.IsNotExist(err) || err == nil && (d.IsDir() || filepath.Ext(path) != ".json") {
			return err
		}
		split := folders[filepath.Base(filepath.Dir(path))]
		if err != nil || split == "" {
			return err
		}
		digest, problems, err := recorded.Read(path, s.skip, func(raw []byte, at recorded.Where) error {
			t, err := parseTask(raw)
			if err == nil {
				to := split
				if split == domain.SplitTrain && domain.Seed(0, "val", t.ID)%10 == 0 {
					to = domain.SplitVal
				}
				ix.splits[to] = append(ix.splits[to], entry{t.ID, t.Website, len(t.Actions), at})
			}
			return err
		})
		ix.problems = append(ix.problems, problems...)
		ix.version += fmt.Sprintf("%s/%s sha256:%s ", filepath.Base(filepath.Dir(path)), filepath.Base(path), digest)
		return err
	})
	if err == nil && len(ix.splits) == 0 {
		err = fmt.Errorf("no train/*.json, test_task/*.json, test_website/*.json or test_domain/*.json in %s", s.data)
	}
	for name, es := range ix.splits {
		slices.SortFunc(es, func(a, b entry) int { return strings.Compare(a.id, b.id) })
		for i := range es {
			if i > 0 && es[i-1].id == es[i].id {
				err = fmt.Errorf("%v: task %s stands in %v, too", es[i].at, es[i].id, es[i-1].at)
			}
		}
		ix.splits[name] = es
	}
	return ix, fault.As(fault.Invalid, err)
}

var (
	_ envadapters.Suite     = (*Suite)(nil)
	_ envadapters.Recorded  = (*Suite)(nil)
	_ envadapters.Versioned = (*Suite)(nil)
)
