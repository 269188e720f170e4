package app

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/spec"
)

func TestNoMoreOfASpecificationIsReadThanIsNeededToRefuseIt(t *testing.T) {
	name := filepath.Join(t.TempDir(), "large.yaml")
	if err := os.WriteFile(name, bytes.Repeat([]byte("#"), 3*spec.MaxFile), 0o600); err != nil {
		t.Fatal(err)
	}
	raw, err := ReadFile(name)
	if err != nil || len(raw) != spec.MaxFile+1 {
		t.Errorf("readFile returned %d bytes, %v; want %d", len(raw), err, spec.MaxFile+1)
	}
	_, err = LoadSpec(name)
	wantRefused(t, err, "large.yaml: larger than 512 KiB")
}

// wantRefused fails the test unless an error is an invalid fault that contains a text.
func wantRefused(t *testing.T, err error, text string) {
	t.Helper()
	if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), text) {
		t.Errorf("got %v, want an invalid fault that contains %q", err, text)
	}
}
