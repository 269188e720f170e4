package app

import (
	"io"
	"os"
	"path/filepath"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/workers/catalog"
)

// LoadSpec reads a specification file and the prompt templates that it names.
func LoadSpec(path string) (spec.Spec, error) {
	raw, err := ReadFile(path)
	if err != nil {
		return spec.Spec{}, fault.New(fault.Invalid, "read the specification: %w", err)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return spec.Spec{}, fault.New(fault.Invalid, "read the specification: %w", err)
	}

	return spec.Parse(spec.Source{Name: path, Dir: filepath.Dir(abs), Read: ReadFile}, raw, catalog.All{})
}

// ReadFile returns the bytes of a file that a person wrote. It reads a larger one only as far as needed to reject it.
func ReadFile(path string) ([]byte, error) {
	in, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }()

	return io.ReadAll(io.LimitReader(in, spec.MaxFile+1))
}
