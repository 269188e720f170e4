package spec

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/prompts"
	"github.com/collabui/collabui/internal/method/yamldoc"
)

// Source describes the file that a specification comes from.
type Source struct {
	Name string                            // file name for errors; if empty, errors name no places
	Dir  string                            // absolute path of the folder to which paths in the file are relative
	Read func(path string) ([]byte, error) // reads prompt templates; if nil, the file cannot name any
}

// Parse decodes a specification over the defaults. The error is an invalid fault that lists all mistakes in the order
// of the file, each with file, line, column, field and what was expected.
func Parse(src Source, raw []byte, catalog Catalog) (Spec, error) {
	name := src.Name
	s := Default()
	root, err := yamldoc.Read(name, raw)
	if err != nil {
		return s, err
	}
	if root == nil {
		return s, fault.New(fault.Invalid, "%s:1:1: the file is empty; expected a mapping with at least 'name'", name)
	}

	d := &decoder{file: name, at: map[string]*yaml.Node{}}
	d.decode(root, reflect.ValueOf(&s).Elem(), "")
	s.divide(d.at)
	d.options(&s.Trainer, catalog)
	d.limits(&s, catalog)
	d.prompts(s.Prompts, src)
	Absolute(s.Environments, src.Dir)
	for name, model := range s.Models {
		if model.CA != "" && !filepath.IsAbs(model.CA) {
			model.CA = filepath.Join(src.Dir, model.CA)
			s.Models[name] = model
		}
	}
	d.check(root, func(must Must) { s.checkAll(catalog, must) })

	return s, d.err()
}

// divide sets the defaults of the keys that depend on whether views are divided. given holds the fields of the file.
func (s *Spec) divide(given map[string]*yaml.Node) {
	if given["speech"] == nil {
		s.Speech = s.Views.Divided()
	}
	if given["reads"] == nil && s.Views.Divided() {
		s.Reads = agents.ReadBack
	}
}

// options decodes the trainer's options over their defaults. It ignores an unknown trainer, which check reports.
func (d *decoder) options(trainer *Trainer, catalog Catalog) {
	const field = "trainer.options"
	given := d.at[field]
	rules, ok := catalog.Trainer(trainer.Name)
	if !ok {
		return
	}
	if rules.Options == nil {
		if given != nil {
			d.fail(given, field, "the trainer %s has no options", trainer.Name)
		}
		return
	}

	value := reflect.New(reflect.TypeOf(rules.Options)).Elem()
	value.Set(reflect.ValueOf(rules.Options))
	if given != nil {
		d.decode(given, value, field)
	}
	raw, err := json.Marshal(value.Interface())
	if err != nil {
		panic(err) // options are plain values
	}
	trainer.Options = raw
}

// limits decodes the limits of prompts over the defaults for the trainer's policies. Prompts of language models leave
// room for an answer within the number of tokens that the trainer reads, if that is one of its options.
func (d *decoder) limits(s *Spec, catalog Catalog) {
	rules, _ := catalog.Trainer(s.Trainer.Name)
	if !rules.LanguageModels {
		return
	}
	s.Prompt = agents.ModelLimits
	var options struct{ Cutoff int }
	if json.Unmarshal(s.Trainer.Options, &options) == nil {
		s.Prompt.Tokens = max(options.Cutoff/2, options.Cutoff-s.Decoding.MaxTokens)
	}
	if given := d.at["prompt"]; given != nil {
		d.decode(given, reflect.ValueOf(&s.Prompt).Elem(), "prompt")
	}
}

// maxTemplate is the maximum size of a template in bytes. It keeps a specification with all templates readable.
const maxTemplate = 32 << 10

// prompts replaces the names of template files and of built-in templates by their contents, so a stored specification
// needs no files. A value that is itself a template is kept.
func (d *decoder) prompts(templates map[string]string, src Source) {
	for _, role := range slices.Sorted(maps.Keys(templates)) {
		file := templates[role]
		if strings.HasPrefix(file, "{{") {
			continue
		}
		if text, ok := prompts.Variant(role, file); ok {
			templates[role] = text

			continue
		}
		if !filepath.IsAbs(file) {
			file = filepath.Join(src.Dir, file)
		}
		raw, err := src.read(file)
		if err != nil {
			field := "prompts." + role
			d.fail(d.at[field], field, "expected a file with a prompt template: %v", err)
			continue
		}
		if len(raw) > maxTemplate {
			field := "prompts." + role
			d.fail(d.at[field], field, "expected a file of at most %d KiB", maxTemplate>>10)
			continue
		}
		templates[role] = string(raw)
	}
}

func (src Source) read(path string) ([]byte, error) {
	if src.Read == nil {
		return nil, fmt.Errorf("%s names no files", src.Name)
	}

	return src.Read(path)
}
