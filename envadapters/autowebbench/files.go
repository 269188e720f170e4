package autowebbench

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/collabui/collabui/envadapters/recorded"
	"github.com/collabui/collabui/fault"
)

// split is one file.
type split struct {
	digest string
	// episodes[i] contains the steps of template i+1.
	episodes [][]step
	records  int
}

// index contains the splits by name, and the problems of the files that were skipped.
type index struct {
	splits   map[string]split
	problems []recorded.Problem
}

// load reads the files of the suite. If two files belong to one split, it returns an error or, with skip, reads the
// first one only.
func (s *Suite) load() (index, error) {
	ix := index{splits: map[string]split{}}
	files, problems, err := testFiles(s.data, s.skip)
	if err != nil {
		return ix, err
	}
	ix.problems = problems

	from := map[string]string{}
	for _, file := range files {
		name := splitName(filepath.Dir(file))
		if first, duplicate := from[name]; duplicate {
			err := fault.New(fault.Invalid, "%s: split %s is also in %s", file, name, first)
			if !s.skip {
				return ix, err
			}
			ix.problems = append(ix.problems, recorded.Problem{Where: recorded.Where{File: file}, Err: err})
			continue
		}

		var sp split
		digest, problems, err := recorded.Read(file, s.skip, sp.add)
		if err != nil {
			return ix, err
		}
		ix.problems = append(ix.problems, problems...)
		if sp.records > 0 {
			sp.digest = digest
			ix.splits[name] = sp
			from[name] = file
		}
	}
	if len(ix.splits) == 0 {
		return ix, fault.New(fault.Invalid, "no records in test.json of %s%s", s.data,
			recorded.Instead(s.data, ix.problems))
	}

	return ix, nil
}

// add appends a record to the last episode or, if the record's task differs, begins a new episode.
func (sp *split) add(raw []byte, _ recorded.Where) error {
	st, err := parseRecord(raw)
	if err != nil {
		return err
	}

	sp.records++
	if n := len(sp.episodes); n > 0 && sp.episodes[n-1][0].task == st.task {
		sp.episodes[n-1] = append(sp.episodes[n-1], st)
	} else {
		sp.episodes = append(sp.episodes, []step{st})
	}

	return nil
}

// testFiles returns the test files in the order of their names. data is one such file or a folder. With skip, a
// subfolder that cannot be read is a problem instead of an error.
func testFiles(data string, skip bool) (out []string, problems []recorded.Problem, err error) {
	info, err := os.Stat(data)
	if err != nil {
		return nil, nil, fault.New(fault.Invalid, "autowebbench: data: %w", err)
	}
	if !info.IsDir() {
		return []string{data}, nil, nil
	}

	if data, err = filepath.EvalSymlinks(data); err != nil { // WalkDir does not follow a link
		return nil, nil, fault.New(fault.Invalid, "autowebbench: data: %w", err)
	}
	err = filepath.WalkDir(data, func(path string, entry fs.DirEntry, err error) error {
		if err != nil && skip && path != data {
			problems = append(problems, recorded.Problem{Where: recorded.Where{File: path}, Err: err})
			return fs.SkipDir
		}
		if err == nil && entry.Name() == "test.json" {
			out = append(out, path)
		}
		return err
	})
	if err == nil && len(out) == 0 {
		err = fmt.Errorf("no test.json in %s%s", data, recorded.Instead(data, problems))
	}

	return out, problems, fault.As(fault.Invalid, err)
}

// splitName joins the last two folders of a path: the language and the half (in or out of domain) of a test file.
func splitName(dir string) string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		abs = dir
	}

	return filepath.Base(filepath.Dir(abs)) + "-" + filepath.Base(abs)
}
