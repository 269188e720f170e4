package disk_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/local/disk"
)

func TestReadTakesRegularFilesOfASizeOnly(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	for name, body := range map[string]string{"small": "12345", "large": "123456"} {
		if err := os.WriteFile(in(name), []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	err := syscall.Mkfifo(in("pipe"), 0o600)
	for link, to := range map[string]string{"zero": "/dev/zero", "link": "small", "nowhere": "x", "loop": "loop"} {
		if err == nil {
			err = os.Symlink(to, in(link))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"small": "", "link": "", "large": "more than 5 bytes", "pipe": "no regular file", "zero": "no regular file",
		".": "no regular file", "nowhere": "no such file", "loop": "symbolic links",
	} {
		raw, err := disk.Read(in(name), 5)
		if want == "" && (err != nil || string(raw) != "12345") {
			t.Errorf("Read(%s) = %q, %v; want 12345", name, raw, err)
		}
		if want != "" && (fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), want)) {
			t.Errorf("Read(%s) = %v, want an invalid fault with %q", name, err, want)
		}
	}
}
