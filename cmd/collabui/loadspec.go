package main

import (
	"os"
	"path/filepath"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/workers/catalog"
)

// loadSpec reads a specification file and the prompt templates that it names.
func loadSpec(path string) (spec.Spec, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return spec.Spec{}, fault.New(fault.Invalid, "read the specification: %w", err)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return spec.Spec{}, fault.New(fault.Invalid, "read the specification: %w", err)
	}

	return spec.Parse(spec.Source{Name: path, Dir: filepath.Dir(abs), Read: os.ReadFile}, raw, catalog.All{})
}
