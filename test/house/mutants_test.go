package house

import (
	"go/ast"
	"go/parser"
	"go/types"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/go/packages"

	"github.com/collabui/collabui/test/mutants"
)

// TestEveryMutantCanBePlanted also wants a record that each was found, and the tests that find it to exist. That they
// find it is what `make mutants` checks.
func TestEveryMutantCanBePlanted(t *testing.T) {
	found, err := mutants.ReadRecord(filepath.Join(root, "test/mutants", mutants.RecordFile))
	if err != nil {
		t.Fatal(err)
	}
	began, names := time.Now(), map[string]bool{}
	for _, m := range mutants.All() {
		if names[m.Name] {
			t.Errorf("two mutants are called %q, want one: rename it in test/mutants", m.Name)
		}
		names[m.Name] = true
		if _, _, err := m.Plant(root); err != nil {
			t.Errorf("%v, want it planted", err)
		}
	}
	t.Logf("%d mutants in %v", len(names), time.Since(began).Round(time.Millisecond))

	files := read(t)
	for _, m := range mutants.All() {
		for _, test := range missingTests(files, m.Find) {
			t.Errorf("the mutant %q is found by %s of %s, which does not exist, want a test that finds it: "+
				"mend its Find in test/mutants", m.Name, test, m.Find[0])
		}
		if !slices.ContainsFunc(found, func(f mutants.Found) bool { return f.Name == m.Name }) {
			name := strings.ReplaceAll(m.Name, " ", "_")
			t.Errorf("%s has no entry of the mutant %q, want a record of when it was found: `make mutants NAME=%s` "+
				"plays and records it", mutants.RecordFile, m.Name, name)
		}
	}
	for _, f := range found {
		if !names[f.Name] {
			t.Errorf("%s has an entry of %q, want entries of mutants only: remove it", mutants.RecordFile, f.Name)
		}
	}
}

// TestEveryMutantCompiles checks the types of every package with each of its mutants: a bug that the compiler finds
// says nothing about the tests.
func TestEveryMutantCompiles(t *testing.T) {
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
			packages.NeedTypes | packages.NeedSyntax | packages.NeedExportFile,
		Dir: root,
	}, "./...")
	if err != nil {
		t.Fatal(err)
	}

	for _, m := range mutants.All() {
		file, text, err := m.Plant(root)
		if err != nil {
			continue // TestEveryMutantCanBePlanted reports it.
		}
		file, err = filepath.Abs(file)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(loaded, func(p *packages.Package) bool {
			return slices.Contains(p.CompiledGoFiles, file)
		})
		if i < 0 {
			t.Errorf("the mutant %q changes %s, which no package contains, want a file of a package", m.Name, file)

			continue
		}
		if err := compiles(loaded[i], file, text); err != nil {
			t.Errorf("the mutant %q of %s does not compile: %v, want a bug that only tests find: "+
				"mend it in test/mutants", m.Name, m.Symbol, err)
		}
	}
}

// compiles returns the first error of the types of a package that has another text of one of its files.
func compiles(p *packages.Package, file, text string) error {
	changed, err := parser.ParseFile(p.Fset, file, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	syntax := slices.Clone(p.Syntax)
	syntax[slices.Index(p.CompiledGoFiles, file)] = changed
	config := types.Config{Importer: imports(p.Imports)}
	_, err = config.Check(p.PkgPath, p.Fset, syntax, nil)

	return err
}

// imports are the packages that a package imports, by their path in it.
type imports map[string]*packages.Package

// Import returns the types of a package.
func (i imports) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}

	return i[path].Types, nil
}

var namedTest = regexp.MustCompile(`Test\w+`)

// missingTests returns the tests that the arguments of `go test` name and their package does not have.
func missingTests(files []source, find []string) []string {
	there := map[string]bool{}
	for _, s := range files {
		if s.ast == nil || !s.isTest() || "./"+path.Dir(s.name) != find[0] {
			continue
		}
		for _, d := range s.ast.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				there[f.Name.Name] = true
			}
		}
	}

	return slices.DeleteFunc(namedTest.FindAllString(strings.Join(find, " "), -1),
		func(name string) bool { return there[name] })
}
