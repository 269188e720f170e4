package supervisor

import (
	"os"
	"path/filepath"
	"testing"
)

func TestADataFolderIsPrivateToItsOwner(t *testing.T) {
	fresh, older := filepath.Join(t.TempDir(), "fresh"), t.TempDir()
	for _, part := range []string{"logs", "services"} {
		if err := os.Mkdir(filepath.Join(older, part), 0o755); err != nil {
			t.Fatal(err)
		}
	}

	for _, data := range []string{fresh, older, fresh} { // the last one shows that it may be repeated
		if err := MakeFolder(data); err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{"logs", "services"} {
			info, err := os.Stat(filepath.Join(data, part))
			if err != nil {
				t.Fatal(err)
			}
			if got := info.Mode().Perm(); got != 0o700 {
				t.Errorf("the mode of %s is %o, want 700", part, got)
			}
		}
	}
	if info, err := os.Stat(fresh); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the mode of a new data folder is %v, %v, want 700", info.Mode(), err)
	}
}
