package autowebbench

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/envadapters"
)

// TestWhatIsNoDataIsNamedOrSkippedAndCounted puts one broken file beside the good ones.
func TestWhatIsNoDataIsNamedOrSkippedAndCounted(t *testing.T) {
	good, err := os.ReadFile("testdata/en/ind/test.json")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ file, text, want string }{
		"Git LFS":       {"zz/ind/test.json", "version https://git-lfs.github.com/spec/v1\n", "is a pointer of Git LFS"},
		"an empty file": {"zz/ind/test.json", "", "test.json is empty"},
		"no records":    {"zz/ind/test.json", "null", "test.json has no records"},
		"a split twice": {"other/en/ind/test.json", string(good), "split en-ind is also in"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS("testdata")); err != nil {
				t.Fatal(err)
			}
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
			if got := s.Splits(); !slices.Contains(got, "en-ind") || slices.Contains(got, "zz-ind") {
				t.Errorf("skip: Splits = %v, want en-ind without zz-ind", got)
			}
		})
	}
}

// TestAnUnreadableFolderIsNamedOrSkippedAndCounted uses a path that is too long to open, because root may read every
// folder.
func TestAnUnreadableFolderIsNamedOrSkippedAndCounted(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata")); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	deep := strings.TrimSuffix(strings.Repeat(strings.Repeat("z", 200)+"/", 25), "/")
	if err := root.MkdirAll(deep, 0o700); err != nil {
		t.Fatal(err)
	}

	h := open(t, envadapters.Options{Data: dir}).Check(t.Context())
	if h.State != envadapters.Dead || !strings.Contains(h.Detail, "zzz") {
		t.Errorf("stop: got %+v, want it dead, with the folder", h)
	}
	s := open(t, envadapters.Options{Data: dir, Broken: "skip"})
	h = s.Check(t.Context())
	if h.State != envadapters.Degraded || !strings.Contains(h.Detail, "skipped 1: ") ||
		!strings.Contains(h.Detail, "zzz") {
		t.Errorf("skip: got %+v, want it degraded, with the folder as the one that was skipped", h)
	}
	if got := s.Splits(); !slices.Contains(got, "en-ind") {
		t.Errorf("skip: Splits = %v, want en-ind among them", got)
	}
}

func TestAFileThatIsNoDataIsNamed(t *testing.T) {
	for _, name := range []string{"._test.json", ".DS_Store"} {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte("\x00\x05\x16\x07"), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, broken := range []string{"stop", "skip"} {
			h := open(t, envadapters.Options{Data: file, Broken: broken}).Check(t.Context())
			if h.State != envadapters.Dead || !strings.Contains(h.Detail, name+" is no data") {
				t.Errorf("%s: got %+v, want it dead and %s named", broken, h, name)
			}
		}
	}
}
