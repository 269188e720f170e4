package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/collabui/collabui/internal/method/spec"
)

func TestNoMoreOfASpecificationIsReadThanIsNeededToRefuseIt(t *testing.T) {
	name := filepath.Join(t.TempDir(), "large.yaml")
	if err := os.WriteFile(name, bytes.Repeat([]byte("#"), 3*spec.MaxFile), 0o600); err != nil {
		t.Fatal(err)
	}
	raw, err := readFile(name)
	if err != nil || len(raw) != spec.MaxFile+1 {
		t.Errorf("readFile returned %d bytes, %v; want %d", len(raw), err, spec.MaxFile+1)
	}
	_, err = loadSpec(name)
	wantInvalid(t, err, "large.yaml: larger than 512 KiB")
}
