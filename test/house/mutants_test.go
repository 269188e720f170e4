package house

import (
	"go/ast"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/collabui/collabui/test/mutants"
)

// TestEveryMutantCanBePlanted also checks that the tests exist that find the mutants, and that a record states when
// each mutant was last found. `make mutants` checks that the tests do find them.
func TestEveryMutantCanBePlanted(t *testing.T) {
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

	found, err := mutants.ReadRecord(filepath.Join(root, "test/mutants", mutants.RecordFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		if !names[f.Name] {
			t.Errorf("%s has an entry of %q, want entries of mutants only: remove it", mutants.RecordFile, f.Name)
		}
	}

	files := read(t)
	for _, m := range mutants.All() {
		if !slices.ContainsFunc(found, func(f mutants.Found) bool { return f.Name == m.Name }) {
			t.Errorf("%s has no entry of the mutant %q, want a record of when it was found: `make mutants NAME=%s` "+
				"plays and records it", mutants.RecordFile, m.Name, strings.ReplaceAll(m.Name, " ", "_"))
		}
		for _, test := range missingTests(files, m.Find) {
			t.Errorf("the mutant %q is found by %s of %s, which does not exist, want a test that finds it: "+
				"mend its Find in test/mutants", m.Name, test, m.Find[0])
		}
	}
}

var namedTest = regexp.MustCompile(`Test\w+`)

// missingTests returns the tests that the arguments of `go test` name but their package does not have.
func missingTests(files []source, find []string) []string {
	declared := map[string]bool{}
	for _, s := range files {
		if s.ast == nil || !s.isTest() || "./"+path.Dir(s.name) != find[0] {
			continue
		}
		for _, d := range s.ast.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				declared[f.Name.Name] = true
			}
		}
	}

	return slices.DeleteFunc(namedTest.FindAllString(strings.Join(find, " "), -1),
		func(name string) bool { return declared[name] })
}
