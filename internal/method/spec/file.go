package spec

import (
	"path/filepath"
	"reflect"

	"gopkg.in/yaml.v3"

	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/yamldoc"
)

// MaxFile is the size of the largest file that Parse and Decode take, in bytes.
const MaxFile = yamldoc.MaxBytes

// Decode decodes YAML over value, a pointer to a struct with JSON names, as Parse decodes a specification: unknown keys
// are errors, and the error lists all mistakes with their places. check reports impossible values.
func Decode(src Source, raw []byte, value any, check func(Must)) error {
	root, err := yamldoc.Read(src.Name, raw)
	if err != nil {
		return err
	}
	if root == nil {
		return fault.New(fault.Invalid, "%s:1:1: the file is empty; expected a mapping", src.Name)
	}

	d := &decoder{file: src.Name, at: map[string]*yaml.Node{}}
	d.decode(root, reflect.ValueOf(value).Elem(), "")
	if len(d.errs) == 0 {
		check(func(ok bool, field, expected string, args ...any) {
			if !ok {
				d.fail(d.near(field, root), field, "expected "+expected, args...)
			}
		})
	}

	return d.err()
}

// Absolute makes the paths of environments absolute. In a file they are relative to its folder.
func Absolute(environments map[string]envadapters.Options, dir string) {
	for name, options := range environments {
		if options.Data != "" && !filepath.IsAbs(options.Data) {
			options.Data = filepath.Join(dir, options.Data)
			environments[name] = options
		}
		Absolute(options.Parts, dir)
	}
}

// Name expects a name as runs, lines, schedules, environments and models have it.
func (must Must) Name(text, field string) {
	must(runName.MatchString(text), field, "a name of 1 to 40 lower-case letters, digits and dashes, not %q", text)
}

// CheckEnvironments checks the environments of a file that is no specification.
func CheckEnvironments(environments map[string]envadapters.Options, catalog Catalog, must Must) {
	Spec{Environments: environments}.checkListed(catalog, must)
}
