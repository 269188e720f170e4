package recorded

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
)

// checkFile checks the kind and the beginning of a file. It opens no device or pipe, which could block forever.
func checkFile(file string) error {
	info, err := os.Stat(file)
	if err != nil {
		return fault.New(fault.Invalid, "open recorded tasks: %w", err)
	}
	if !info.Mode().IsRegular() {
		return fault.New(fault.Invalid, "%s is no regular file", file)
	}
	in, err := os.Open(file)
	if err != nil {
		return fault.New(fault.Invalid, "open recorded tasks: %w", err)
	}
	defer func() { _ = in.Close() }()
	beginning, err := io.ReadAll(io.LimitReader(in, 4096))
	if err != nil {
		return fault.New(fault.Invalid, "read recorded tasks: %w", err)
	}

	return envadapters.CheckData(file, beginning)
}

// Instead describes the contents of a folder without data: what was skipped, or what desktop systems left there. It
// continues a sentence.
func Instead(dir string, problems []Problem) string {
	if len(problems) > 0 {
		return ": " + Summary(problems)
	}

	const most = 3
	var left []string
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && envadapters.Stray(path) && len(left) < most {
			left = append(left, path)
		}
		return nil
	})
	if len(left) == 0 {
		return ""
	}

	return ": it has " + strings.Join(left, ", ") + ", which a desktop wrote and which are no data"
}
