package mind2web

import (
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters/recorded"
	"github.com/collabui/collabui/fault"
)

// folders maps the folders of the published files to splits.
var folders = map[string]string{
	"train":        domain.SplitTrain,
	"test_task":    SplitTask,
	"test_website": SplitWebsite,
	"test_domain":  SplitDomain,
}

// index contains the places of the tasks.
type index struct {
	// splits contains the tasks of each split, sorted by ID.
	splits   map[string][]entry
	ranks    ranking
	problems []recorded.Problem
	version  string
}

// entry is the place of one task in the files.
type entry struct {
	id, website string
	steps       int
	at          recorded.Where
}

// task reads a task of a split.
func (ix index) task(split, id string) (task, error) {
	entries := ix.splits[split]
	i, ok := slices.BinarySearchFunc(entries, id, func(e entry, id string) int { return strings.Compare(e.id, id) })
	if !ok {
		return task{}, fault.New(fault.Invalid, "mind2web has no task %q in split %q", id, split)
	}

	raw, err := recorded.At(entries[i].at)
	if err != nil {
		return task{}, err
	}
	t, err := parseTask(raw)
	if err != nil {
		return task{}, fault.New(fault.Corrupt, "%v: %w", entries[i].at, err)
	}

	return t, nil
}

// load reads all files of the suite's folder.
func (s *Suite) load() (index, error) {
	ix := index{splits: map[string][]entry{}}
	var err error
	if ix.ranks, err = readRanks(s.data); err != nil {
		return ix, err
	}

	data, err := filepath.EvalSymlinks(s.data) // WalkDir does not follow a link
	if err != nil {
		return ix, fault.New(fault.Invalid, "mind2web: data: %w", err)
	}

	err = filepath.WalkDir(data, func(path string, d fs.DirEntry, err error) error {
		if err != nil && s.skip && path != data {
			ix.problems = append(ix.problems, recorded.Problem{Where: recorded.Where{File: path}, Err: err})
			return fs.SkipDir
		}
		split := folders[filepath.Base(filepath.Dir(path))]
		if err != nil || d.IsDir() || filepath.Ext(path) != ".json" || split == "" {
			return err
		}
		return ix.add(path, split, s.skip)
	})
	if err == nil {
		err = ix.sort(s.skip)
	}
	if err == nil && len(ix.splits) == 0 {
		err = fmt.Errorf("no tasks in train/*.json, test_task/*.json, test_website/*.json or test_domain/*.json "+
			"of %s%s", s.data, recorded.Instead(data, ix.problems))
	}

	return ix, fault.As(fault.Invalid, err)
}

// add reads a file of a split. A tenth of the training tasks becomes val.
func (ix *index) add(path, split string, skip bool) error {
	digest, problems, err := recorded.Read(path, skip, func(raw []byte, at recorded.Where) error {
		t, err := parseTask(raw)
		if err != nil {
			return err
		}

		to := split
		if split == domain.SplitTrain && domain.Seed(0, "val", t.ID)%10 == 0 {
			to = domain.SplitVal
		}
		ix.splits[to] = append(ix.splits[to], entry{t.ID, t.Website, len(t.Actions), at})

		return nil
	})
	ix.problems = append(ix.problems, problems...)
	if digest != "" {
		ix.version += fmt.Sprintf("%s/%s sha256:%s ", filepath.Base(filepath.Dir(path)), filepath.Base(path), digest)
	}

	return err
}

// sort orders the tasks of all splits. If a split has a task twice, it returns an error or, with skip, keeps the first
// one.
func (ix *index) sort(skip bool) error {
	for _, split := range slices.Sorted(maps.Keys(ix.splits)) {
		var unique []entry
		entries := ix.splits[split]
		slices.SortStableFunc(entries, func(a, b entry) int { return strings.Compare(a.id, b.id) })
		for _, e := range entries {
			if n := len(unique); n == 0 || unique[n-1].id != e.id {
				unique = append(unique, e)
				continue
			}
			duplicate := fmt.Errorf("task %s is also at %v", e.id, unique[len(unique)-1].at)
			if !skip {
				return fmt.Errorf("%v: %w", e.at, duplicate)
			}
			ix.problems = append(ix.problems, recorded.Problem{Where: e.at, Err: duplicate})
		}
		ix.splits[split] = unique
	}

	return nil
}
