package envadapters

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"

	"github.com/collabui/collabui/fault"
)

// pointer is the beginning of the file that replaces a data file in a checkout without Git LFS.
var pointer = []byte("version https://git-lfs.github.com/spec/")

// strays are files that desktop systems put into every folder, in lower case.
var strays = []string{".ds_store", "thumbs.db", "desktop.ini"}

// Stray reports whether the name in a data folder belongs to a file of the desktop system, which holds no data.
func Stray(name string) bool {
	name = filepath.Base(name)

	return strings.HasPrefix(name, "._") || slices.Contains(strays, strings.ToLower(name))
}

// CheckData checks that a file with this beginning contains data. Otherwise it returns a fault of kind Invalid that
// names the file and its actual content, and gives advice.
func CheckData(file string, beginning []byte) error {
	switch {
	case Stray(file):
		return fault.New(fault.Invalid,
			"%s is no data: a desktop such as macOS wrote it beside the data; remove it", file)
	case bytes.HasPrefix(beginning, pointer):
		return fault.New(fault.Invalid,
			"%s is a pointer of Git LFS, not the data: call `git lfs pull` there", file)
	case len(bytes.TrimSpace(beginning)) == 0:
		return fault.New(fault.Invalid, "%s is empty: copy or download it again", file)
	}

	return nil
}
