// Package autowebbench plays AutoWebBench (METHOD.md section 5) from the published files, which the user names: recorded steps on web pages in English and Chinese.
package autowebbench

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/recorded"
	"github.com/collabui/collabui/fault"
)

// Suite plays the records of its files. Consecutive records with one task are an episode; its steps are independent of each other.
type Suite struct {
	data string
	skip bool
	read func() (map[string]split, error)
}

// split is one file.
type split struct {
	digest   string
	episodes []episode // by number
	records  int
	problems []recorded.Problem
}

// New reads nothing yet. Options: data, a test.json or a folder that holds such; broken, skip or stop (default).
func New(o envadapters.Options) (*Suite, error) {
	if o.Data == "" {
		return nil, fault.New(fault.Invalid, "autowebbench: data: expected a test.json of AutoWebBench, or a folder with en/ind/test.json and the like")
	}
	skip, err := recorded.Skips("autowebbench", o.Broken)
	if err != nil {
		return nil, err
	}
	s := &Suite{data: o.Data, skip: skip}
	s.read = sync.OnceValues(s.load)
	return s, nil
}

// Name is the suite's name in specifications.
func (s *Suite) Name() string { return "autowebbench" }

// Title is the benchmark's name.
func (s *Suite) Title() string { return "AutoWebBench" }

// Protocol says how steps are posed: our agents' prompt over the elements of the recorded simplified page.
func (s *Suite) Protocol() string { return "autowebglm, ssr-all-records" }

// Family is the web action family.
func (s *Suite) Family() domain.Family { return domain.FamilyWeb }

// Splits are the files: their path below the folder without test.json, such as en-ind.
func (s *Suite) Splits() []string {
	all, err := s.read()
	if err != nil {
		return nil
	}
	var out []string
	for name := range all {
		out = append(out, name)
	}
	sort.Strings(out)
	return out
}

// Templates lists the recorded tasks of a file; their budget is their number of records.
func (s *Suite) Templates(name string) ([]envadapters.Template, error) {
	all, err := s.read()
	if err != nil {
		return nil, err
	}
	sp, ok := all[name]
	if !ok {
		return nil, fault.New(fault.Invalid, "autowebbench has no split %q; it has %s", name, strings.Join(s.Splits(), ", "))
	}
	var out []envadapters.Template
	for i, e := range sp.episodes {
		out = append(out, envadapters.Template{Name: fmt.Sprintf("%04d", i+1), Group: name, MaxSteps: len(e.steps)})
	}
	return out, nil
}

// Records counts a split's records, and gives those that could not be read.
func (s *Suite) Records(name string) (int, []recorded.Problem) {
	all, err := s.read()
	if err != nil {
		return 0, nil
	}
	return all[name].records, all[name].problems
}

// Version is the digest of the files.
func (s *Suite) Version(context.Context) (string, error) {
	all, err := s.read()
	var parts []string
	for name, sp := range all {
		parts = append(parts, name+" sha256:"+sp.digest)
	}
	sort.Strings(parts)
	return strings.Join(parts, ", "), err
}

// Open never waits.
func (s *Suite) Open(context.Context) (envadapters.Environment, error) {
	if _, err := s.read(); err != nil {
		return nil, err
	}
	return recorded.NewEnvironment(s.episode), nil
}

func (s *Suite) episode(t domain.Task) (recorded.Episode, error) {
	all, err := s.read()
	if err != nil {
		return nil, err
	}
	var n int
	if _, err := fmt.Sscanf(t.Template, "%04d", &n); err != nil || n < 1 || n > len(all[t.Split].episodes) {
		return nil, fault.New(fault.Invalid, "autowebbench has no task %q in split %q", t.Template, t.Split)
	}
	e := all[t.Split].episodes[n-1]
	return &e, nil
}

// Check reads the files.
func (s *Suite) Check(context.Context) envadapters.Health {
	if _, err := s.read(); err != nil {
		return envadapters.Health{State: envadapters.Dead, Detail: err.Error(), Fix: "name a test.json of AutoWebBench as data (THUDM/AutoWebGLM publishes the files), or set broken: skip"}
	}
	h := envadapters.Health{State: envadapters.Ready}
	for _, name := range s.Splits() {
		n, problems := s.Records(name)
		h.Detail += fmt.Sprintf("%s: %d records; ", name, n)
		for _, p := range problems {
			h.State, h.Detail = envadapters.Degraded, h.Detail+fmt.Sprintf("skipped %v: %v; ", p.Where, p.Err)
		}
	}
	h.Detail = strings.TrimSuffix(h.Detail, "; ")
	return h
}

// Close does nothing.
func (s *Suite) Close() error { return nil }

func (s *Suite) load() (map[string]split, error) {
	out := map[string]split{}
	files, err := files(s.data)
	if err != nil {
		return nil, err
	}
	for name, file := range files {
		var sp split
		sp.digest, sp.problems, err = recorded.Read(file, s.skip, func(raw []byte, _ recorded.Where) error {
			st, err := parseRecord(raw)
			if err != nil {
				return err
			}
			sp.records++
			if n := len(sp.episodes); n > 0 && sp.episodes[n-1].steps[0].task == st.task {
				sp.episodes[n-1].steps = append(sp.episodes[n-1].steps, st)
			} else {
				sp.episodes = append(sp.episodes, episode{steps: []step{st}})
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		out[name] = sp
	}
	return out, nil
}

// files finds test files by the split's name.
func files(data string) (map[string]string, error) {
	info, err := os.Stat(data)
	if err != nil {
		return nil, fault.New(fault.Invalid, "autowebbench: data: %w", err)
	}
	if !info.IsDir() {
		return map[string]string{name(filepath.Dir(data)): data}, nil
	}
	out := map[string]string{}
	err = filepath.WalkDir(data, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "test.json" {
			out[name(filepath.Dir(path))] = path
		}
		return err
	})
	if err == nil && len(out) == 0 {
		err = fmt.Errorf("no test.json in %s", data)
	}
	return out, fault.As(fault.Invalid, err)
}

// name of a split: language and half, the last two folders.
func name(dir string) string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		abs = dir
	}
	return filepath.Base(filepath.Dir(abs)) + "-" + filepath.Base(abs)
}

// episode is a recorded task under way.
type episode struct {
	steps []step
	at    int
}

// Goal is the recorded task.
func (e *episode) Goal() string { return e.steps[0].task }

// Pose is the present record.
func (e *episode) Pose() (recorded.Pose, bool) {
	if e.at == len(e.steps) {
		return recorded.Pose{}, false
	}
	return e.steps[e.at].pose, true
}

// Do scores the present record.
func (e *episode) Do(a domain.Action) map[string]domain.Metric {
	e.at++
	return score(a, e.steps[e.at-1].gold)
}

var (
	_ envadapters.Suite     = (*Suite)(nil)
	_ envadapters.Recorded  = (*Suite)(nil)
	_ envadapters.Versioned = (*Suite)(nil)
)
