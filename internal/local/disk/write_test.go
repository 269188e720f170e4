package disk_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/local/disk"
)

func TestANameThatLeavesItsFolderIsNotWritten(t *testing.T) {
	above := t.TempDir()
	folder := filepath.Join(above, "report")
	if err := os.MkdirAll(filepath.Join(folder, "a"), 0o755); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"out": above, "file": filepath.Join(above, "victim")} {
		if err := os.Symlink(to, filepath.Join(folder, link)); err != nil {
			t.Fatal(err)
		}
	}
	for name, stays := range map[string]bool{
		"a.js": true, "a/b/c.js": true, "a/../b.js": true, "..a/b.js": true, "a": false, // a is a folder
		"../x.js": false, "a/../../x.js": false, "../../../../x/result.json.js": false, "/x.js": false, "": false,
		".": false, "..": false, "out/x.js": false, "file": false, "a\x00b": false,
	} {
		err := disk.Write(folder, name, []byte("x"))
		if (err == nil) != stays || err != nil && fault.KindOf(err) == fault.Transient {
			t.Errorf("Write(%q) = %v, want it to be written: %v", name, err, stays)
		}
	}
	entries, err := os.ReadDir(above)
	if err != nil || len(entries) != 1 {
		t.Errorf("beside the folder there is %v, %v; want nothing", entries, err)
	}
}

func TestFilesAreOneAccountsAlone(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "new")
	if err := disk.Write(folder, "a/b.js", []byte("x")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{"": 0o700, "a": 0o700, "a/b.js": 0o600} {
		info, err := os.Stat(filepath.Join(folder, name))
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("the mode of %q is %v, %v; want %o", name, info.Mode(), err, want)
		}
	}
}
