package mind2web

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/acceptance"
	"github.com/collabui/collabui/fault"
)

// TestWhatIsNoDataIsNamedOrSkippedAndCounted puts one broken file beside a good one.
func TestWhatIsNoDataIsNamedOrSkippedAndCounted(t *testing.T) {
	other := strings.Replace(goodTask, `"a"`, `"b"`, 1)
	for name, test := range map[string]struct{ file, text, want string }{
		"a file of macOS": {"test_task/._x.json", "\x00\x05\x16\x07", "._x.json is no data"},
		"an unpacked archive of macOS": {
			"__MACOSX/test_task/._x.json", "\x00\x05\x16\x07 {}", "._x.json is no data",
		},
		"Git LFS":         {"test_task/y.json", "version https://git-lfs.github.com/spec/v1\n", "y.json is a pointer"},
		"an empty file":   {"test_task/y.json", "", "y.json is empty"},
		"no records":      {"test_task/y.json", "[]\n", "y.json has no records"},
		"a cut download":  {"test_task/y.json", "[" + other[:len(other)-3], "y.json:1"},
		"a task twice":    {"test_task/y.json", goodTask, "y.json:1: "},
		"a task in a row": {"test_task/y.json", other + "\n" + other, "y.json:2: "},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t, goodTask)
			file := filepath.Join(dir, filepath.FromSlash(test.file))
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}

			h := open(t, envadapters.Options{Data: dir}).Check(t.Context())
			if h.State != envadapters.Dead || !strings.Contains(h.Detail, test.want) {
				t.Errorf("stop: got %+v, want it dead, with %q", h, test.want)
			}
			s := open(t, envadapters.Options{Data: dir, Broken: "skip"})
			h = s.Check(t.Context())
			if h.State != envadapters.Degraded || !strings.Contains(h.Detail, "skipped 1: ") ||
				!strings.Contains(h.Detail, test.want) {
				t.Errorf("skip: got %+v, want it degraded, with 1 skipped and %q", h, test.want)
			}
			if ts, err := s.Templates(SplitTask); err != nil || len(ts) == 0 || ts[0].Name != "a" {
				t.Errorf("skip: Templates = %+v, %v; want task a among them", ts, err)
			}
			if problems := acceptance.Suite(t.Context(), s); len(problems) > 0 {
				t.Errorf("skip: the contract's problems = %v, want none", problems)
			}
		})
	}
}

func TestAFolderOfBrokenFilesIsDeadAndNamesThem(t *testing.T) {
	dir := folder(t, "")
	for _, broken := range []string{"stop", "skip"} {
		_, err := open(t, envadapters.Options{Data: dir, Broken: broken}).Templates(SplitTask)
		if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "x.json is empty") {
			t.Errorf("%s: Templates = %v, want an invalid fault that names x.json", broken, err)
		}
	}

	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, ".DS_Store"), []byte("Bud1"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := open(t, envadapters.Options{Data: dir}).Check(t.Context())
	if h.State != envadapters.Dead || !strings.Contains(h.Detail, ".DS_Store, which a desktop wrote") {
		t.Errorf("got %+v, want it dead, with what the folder has instead", h)
	}
}

// TestTheVersionIsThatOfTheTasks compares a folder that was packed on macOS with the original.
func TestTheVersionIsThatOfTheTasks(t *testing.T) {
	dir := folder(t, goodTask)
	want, err := open(t, envadapters.Options{Data: dir}).Version(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "test_task", "._x.json"), []byte("\x00\x05\x16\x07"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := open(t, envadapters.Options{Data: dir, Broken: "skip"}).Version(t.Context())
	if err != nil || got != want {
		t.Errorf("Version = %q, %v; want %q", got, err, want)
	}
}
