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
	// episodes holds the steps of template n at n-1.
	episodes [][]step
	records  int
	problems []recorded.Problem
}

// load reads the files of the suite.
func (s *Suite) load() (map[string]split, error) {
	files, err := testFiles(s.data)
	if err != nil {
		return nil, err
	}

	out := map[string]split{}
	for name, file := range files {
		var sp split
		sp.digest, sp.problems, err = recorded.Read(file, s.skip, sp.add)
		if err != nil {
			return nil, err
		}
		out[name] = sp
	}

	return out, nil
}

// add appends a record to the last episode or, if its task is another one, begins a new episode.
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

// testFiles returns the test files by the names of their splits. Data is one such file or a folder.
func testFiles(data string) (map[string]string, error) {
	info, err := os.Stat(data)
	if err != nil {
		return nil, fault.New(fault.Invalid, "autowebbench: data: %w", err)
	}
	if !info.IsDir() {
		return map[string]string{splitName(filepath.Dir(data)): data}, nil
	}

	out := map[string]string{}
	if data, err = filepath.EvalSymlinks(data); err != nil { // WalkDir does not follow a link
		return nil, fault.New(fault.Invalid, "autowebbench: data: %w", err)
	}
	err = filepath.WalkDir(data, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "test.json" {
			out[splitName(filepath.Dir(path))] = path
		}
		return err
	})
	if err == nil && len(out) == 0 {
		err = fmt.Errorf("no test.json in %s", data)
	}

	return out, fault.As(fault.Invalid, err)
}

// splitName joins the last two folders of a path, which are the language and the half of a test file.
func splitName(dir string) string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		abs = dir
	}

	return filepath.Base(filepath.Dir(abs)) + "-" + filepath.Base(abs)
}
