package house

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const (
	root   = "../.."
	module = "github.com/collabui/collabui"
)

// A problem is one violation of a rule. Its text includes the remedy.
type problem struct {
	file string // relative to the root of the repository
	line int
	text string
}

func (p problem) String() string { return fmt.Sprintf("%s:%d: %s", p.file, p.line, p.text) }

// mostReported bounds the violations that one test prints.
const mostReported = 200

func report(t *testing.T, problems []problem) {
	t.Helper()

	if len(problems) == 0 {
		return
	}

	var lines strings.Builder
	for _, p := range problems[:min(len(problems), mostReported)] {
		fmt.Fprintf(&lines, "\n%v", p)
	}
	t.Errorf("got %d violations (at most %d are printed), want none:%s", len(problems), mostReported, lines.String())
}

// A pkg is the go command's description of a package, without test files.
type pkg struct {
	Dir        string
	ImportPath string
	GoFiles    []string
	Imports    []string
	Deps       []string // transitive
}

// below returns the package's path below the module, "" for the module's root.
func (p pkg) below() string {
	return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
}

// inner returns the packages of this module among paths, below the module and sorted.
func inner(paths []string) []string {
	var found []string
	for _, p := range paths {
		if below, ok := strings.CutPrefix(p, module+"/"); ok {
			found = append(found, below)
		}
	}

	slices.Sort(found)

	return found
}

// ownPackages lists the module's packages that have files other than tests. It runs the go command once.
var ownPackages = sync.OnceValues(func() ([]pkg, error) {
	cmd := exec.Command("go", "list", "-json=Dir,ImportPath,GoFiles,Imports,Deps", "./...")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, exit.Stderr)
		}
		return nil, fmt.Errorf("go list: %w", err)
	}

	var all []pkg
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}

		if len(p.GoFiles) > 0 {
			all = append(all, p)
		}
	}
})

func listed(t *testing.T) []pkg {
	t.Helper()

	all, err := ownPackages()
	if err != nil {
		t.Fatal(err)
	}

	return all
}

// A source is a file of the repository, with its syntax if it is a Go file.
type source struct {
	name string // relative to the root, with slashes
	text string
	fset *token.FileSet
	ast  *ast.File
}

func (s source) isTest() bool { return strings.HasSuffix(s.name, "_test.go") }

func (s source) line(p token.Pos) int { return s.fset.Position(p).Line }

// parsed returns a Go source.
func parsed(name, text string) (source, error) {
	s := source{name: name, text: text, fset: token.NewFileSet()}
	var err error
	s.ast, err = parser.ParseFile(s.fset, name, text, parser.ParseComments|parser.SkipObjectResolution)

	return s, err
}

// sources reads all Go and Markdown files of the repository, except testdata and hidden folders. It walks the tree
// instead of running git, so that it works on an unpacked archive and the go command knows what the result depends on.
var sources = sync.OnceValues(func() ([]source, error) {
	var all []source
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}

		if d.IsDir() {
			hidden := strings.HasPrefix(d.Name(), ".") && name != root
			if hidden || d.Name() == "testdata" || d.Name() == "bin" {
				return filepath.SkipDir
			}
			return nil
		}

		isGo := path.Ext(name) == ".go"
		if !isGo && path.Ext(name) != ".md" {
			return nil
		}

		raw, err := os.ReadFile(name)
		if err != nil {
			return err
		}

		below, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}

		s := source{name: filepath.ToSlash(below), text: string(raw)}
		if isGo {
			if s, err = parsed(s.name, s.text); err != nil {
				return err
			}
		}
		all = append(all, s)

		return nil
	})

	return all, err
})

func read(t *testing.T) []source {
	t.Helper()

	all, err := sources()
	if err != nil {
		t.Fatal(err)
	}

	return all
}

// texts returns the texts of problems, for tests of the checks themselves.
func texts(problems []problem) []string {
	var all []string
	for _, p := range problems {
		all = append(all, p.String())
	}

	return all
}

// mustFind checks that there is one problem for each of wants, in order, and that it contains it.
func mustFind(t *testing.T, problems []problem, wants ...string) {
	t.Helper()

	if len(problems) != len(wants) {
		t.Fatalf("got %d problems %q, want %d: %q", len(problems), texts(problems), len(wants), wants)
	}

	for i, want := range wants {
		if got := problems[i].String(); !strings.Contains(got, want) {
			t.Errorf("problem %d is %q, want it to contain %q", i, got, want)
		}
	}
}

// lastName returns c for a.b.c, and "" for anything that is not a name.
func lastName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.StarExpr:
		return lastName(e.X)
	default:
		return ""
	}
}
