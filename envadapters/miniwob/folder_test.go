package miniwob

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/collabui/collabui/fault"
)

func TestPagesAreThoseOfTheBenchmarkAlone(t *testing.T) {
	pages := fstest.MapFS{
		"miniwob/click-test.html": {Data: []byte("<html>")}, "core/core.js": {Data: []byte("1")},
	}
	clean, err := digest(pages)
	if err != nil {
		t.Fatal(err)
	}
	for _, stray := range []string{"miniwob/._click-test.html", "core/._core.js", "miniwob/.DS_Store"} {
		pages[stray] = &fstest.MapFile{Data: []byte("\x00\x05\x16\x07")}
	}
	names, err := tasks(pages)
	if err != nil || !slices.Equal(names, []string{"click-test"}) {
		t.Errorf("tasks = %v, %v; want click-test alone", names, err)
	}
	if got, err := digest(pages); err != nil || got != clean {
		t.Errorf("digest = %s, %v; want %s, as without what macOS left", got, err, clean)
	}

	for text, want := range map[string]string{
		"":        "miniwob/focus-text.html is empty",
		" \r\n\t": "miniwob/focus-text.html is empty",
		"version https://git-lfs.github.com/spec/v1\noid sha256:0\n": "miniwob/focus-text.html is a pointer of Git LFS",
	} {
		pages["miniwob/focus-text.html"] = &fstest.MapFile{Data: []byte(text)}
		if names, err := tasks(pages); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("tasks = %v, %v; want an invalid fault with %q", names, err, want)
		}
	}
}
