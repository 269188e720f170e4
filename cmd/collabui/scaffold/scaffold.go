// Package scaffold writes the beginnings of an adapter: a package that compiles, its acceptance test, its line in the registry and a specification that trains on it.
package scaffold

import (
	"embed"
	"fmt"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/collabui/collabui/fault"
)

//go:embed *.tmpl
var files embed.FS

var valid = regexp.MustCompile(`^[a-z][a-z0-9]{1,19}$`)

// targets are the files that are written, below the checkout's root.
var targets = [][2]string{{"suite.go.tmpl", "envadapters/%[1]s/%[1]s.go"}, {"suite_test.go.tmpl", "envadapters/%[1]s/%[1]s_test.go"}, {"register.go.tmpl", "envadapters/registry/own_%[1]s.go"}, {"run.yaml.tmpl", "examples/%[1]s.yaml"}}

// New writes the files of an adapter into a checkout and gives their paths. Nothing is written over, and nothing is written where one file is in the way. taken are the names
// of the adapters that there are.
func New(root, name string, taken []string) ([]string, error) {
	if !valid.MatchString(name) || token.IsKeyword(name) || strings.HasSuffix(name, "test") {
		return nil, fault.New(fault.Invalid, "%q cannot be an adapter's name: expected 2 to 20 lower-case letters and digits, a letter first, no word of Go, not ending in \"test\"", name)
	}
	if slices.Contains(taken, name) {
		return nil, fault.New(fault.Invalid, "there is an environment %q already", name)
	}
	var out []string
	for _, t := range targets {
		path := filepath.Join(root, filepath.FromSlash(fmt.Sprintf(t[1], name)))
		if _, err := os.Lstat(path); err == nil {
			return nil, fault.New(fault.Invalid, "%s is in the way: move it, or choose another name", path)
		}
		out = append(out, path)
	}
	for i, t := range targets {
		tmpl, err := template.ParseFS(files, t[0])
		if err != nil {
			return nil, err
		}
		var b strings.Builder
		if err := tmpl.Execute(&b, struct{ Name string }{name}); err != nil {
			return nil, err
		}
		if err := os.MkdirAll(filepath.Dir(out[i]), 0o755); err != nil {
			return nil, fault.New(fault.Invalid, "%w", err)
		}
		if err := os.WriteFile(out[i], []byte(b.String()), 0o644); err != nil {
			return nil, fault.New(fault.Invalid, "%w", err)
		}
	}
	return out, nil
}

// Root finds the checkout around a folder.
func Root(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fault.New(fault.Invalid, "%w", err)
	}
	for at := abs; ; at = filepath.Dir(at) {
		if raw, err := os.ReadFile(filepath.Join(at, "go.mod")); err == nil && strings.HasPrefix(string(raw), "module github.com/collabui/collabui\n") {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fault.New(fault.Invalid, "%s is in no checkout of collabui: an adapter is a package of it, so run this in one", abs)
		}
	}
}
