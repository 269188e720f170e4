package spec

import (
	"path/filepath"
	"reflect"

	"gopkg.in/yaml.v3"

	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/yamldoc"
)

// MaxFile is the size of the largest file that Parse and Decode accept, in bytes.
const MaxFile = yamldoc.MaxBytes

// Decode decodes YAML into value, a pointer to a struct with JSON names, as Parse decodes a specification: it keeps the
// defaults of missing keys, rejects unknown keys, and returns an invalid fault that lists all mistakes with their
// places. check reports impossible values. Fields that could not be decoded have their defaults then.
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
	d.check(root, check)

	return d.err()
}

// Absolute makes the paths of environments absolute. In a file, they are relative to its folder dir.
func Absolute(environments map[string]envadapters.Options, dir string) {
	for name, options := range environments {
		if options.Data != "" && !filepath.IsAbs(options.Data) {
			options.Data = filepath.Join(dir, options.Data)
			environments[name] = options
		}
		Absolute(options.Parts, dir)
	}
}

// Name expects a valid name of a run, line, schedule, environment or model.
func (must Must) Name(text, field string) {
	must(runName.MatchString(text), field, "a name of 1 to 40 lower-case letters, digits and dashes, not %q", text)
}

// CheckEnvironments checks the environments of a file that is not a specification.
func CheckEnvironments(environments map[string]envadapters.Options, catalog Catalog, must Must) {
	Spec{Environments: environments}.checkListed(catalog, must)
}
