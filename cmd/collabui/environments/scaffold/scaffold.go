// Package scaffold writes the beginnings of an environment. In Go it is an adapter: a package that compiles, its
// acceptance test, its entry in the catalog and a specification that trains on it. In Python it is a folder with the
// environment, its test and a specification of the same kind.
package scaffold

import (
	"embed"
	"fmt"
	"go/token"
	"math/rand/v2"
	"net"
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

var templates = template.Must(template.ParseFS(files, "*.tmpl"))

var valid = regexp.MustCompile(`^[a-z][a-z0-9]{1,19}$`)

// target is a file that is written. In its path, NAME stands for the name of the environment.
type target struct{ template, path string }

// adapter lists the files of an adapter, below the checkout's root.
var adapter = []target{
	{"suite.go.tmpl", "envadapters/NAME/NAME.go"},
	{"suite_test.go.tmpl", "envadapters/NAME/NAME_test.go"},
	{"own.go.tmpl", "workers/catalog/own_NAME.go"},
	{"run.yaml.tmpl", "examples/NAME.yaml"},
}

// served lists the files of an environment in Python.
var served = []target{
	{"environment.py.tmpl", "NAME/environment.py"},
	{"test_environment.py.tmpl", "NAME/test_environment.py"},
	{"run.yaml.tmpl", "NAME/NAME.yaml"},
}

// New writes the files of an adapter into a checkout and returns their paths. It overwrites nothing: if one of the
// files exists, it writes no file. taken are the names of the existing adapters.
func New(root, name string, taken []string) ([]string, error) {
	return create(root, name, taken, adapter, 0)
}

// NewPython writes the files of an environment in Python into a folder of its name below dir, in the same way as New.
// It is served at a port that is free now.
func NewPython(dir, name string, taken []string) ([]string, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}

	return create(dir, name, taken, served, port)
}

// freePort returns a free port below those that systems give to connections, so that it is likely to stay free.
func freePort() (int, error) {
	const (
		first = 20000
		ports = 10000
		tries = 100
	)
	var err error
	for range tries {
		port := first + rand.IntN(ports)
		var listener net.Listener
		if listener, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			return port, listener.Close()
		}
	}

	return 0, fault.New(fault.Transient, "find a free port: %w", err)
}

// create writes the files of an environment. port is its port if it is in Python, and 0 if it is in Go.
func create(root, name string, taken []string, targets []target, port int) ([]string, error) {
	if !valid.MatchString(name) || token.IsKeyword(name) || strings.HasSuffix(name, "test") {
		return nil, fault.New(fault.Invalid, "%q cannot be an environment's name: expected 2 to 20 lower-case letters "+
			"and digits that begin with a letter, are not a keyword of Go and do not end in \"test\"", name)
	}
	if slices.Contains(taken, name) {
		return nil, fault.New(fault.Invalid, "there is already an environment %q", name)
	}

	var out []string
	for _, t := range targets {
		path := filepath.Join(root, filepath.FromSlash(strings.ReplaceAll(t.path, "NAME", name)))
		if _, err := os.Lstat(path); err == nil {
			return nil, fault.New(fault.Invalid, "%s exists: move it, or choose another name", path)
		}
		out = append(out, path)
	}
	for i, t := range targets {
		if err := write(out[i], t.template, name, port); err != nil {
			return nil, fault.New(fault.Invalid, "write %s: %w", out[i], err)
		}
	}

	return out, nil
}

func write(path, tmpl, name string, port int) error {
	var builder strings.Builder
	data := struct {
		Name string
		Port int
	}{name, port}
	if err := templates.ExecuteTemplate(&builder, tmpl, data); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}

	return os.WriteFile(path, []byte(builder.String()), 0o644)
}

// Root returns the checkout that contains a folder.
func Root(dir string) (string, error) {
	const module = "module github.com/collabui/collabui\n"
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fault.New(fault.Invalid, "%w", err)
	}

	for at := abs; ; at = filepath.Dir(at) {
		raw, err := os.ReadFile(filepath.Join(at, "go.mod"))
		if err == nil && strings.HasPrefix(string(raw), module) {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fault.New(fault.Invalid, "%s is not in a checkout of collabui; "+
				"an adapter is a package of collabui, so run this in a checkout", abs)
		}
	}
}
