package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestALogIsReadAsItGrows(t *testing.T) {
	l := &tail{service: "worker", path: filepath.Join(t.TempDir(), "worker.log")}
	for _, c := range []struct {
		about, more string
		anew        bool
		want        []string
	}{
		{"two lines and the beginning of a third", "a\nb\nc", false, []string{"a", "b"}},
		{"nothing", "", false, nil},
		{"its end", "d\n", false, []string{"cd"}},
		{"a log that was made anew", "e\n", true, []string{"e"}},
	} {
		mode := os.O_CREATE | os.O_WRONLY | os.O_APPEND
		if c.anew {
			mode = os.O_WRONLY | os.O_TRUNC
		}
		f, err := os.OpenFile(l.path, mode, 0o600)
		if err == nil {
			_, err = f.WriteString(c.more)
		}
		if err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
		if got, err := l.read(); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: read = %q, %v, want %q", c.about, got, err, c.want)
		}
	}
}
