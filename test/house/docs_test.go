package house

import (
	"fmt"
	"go/ast"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

func TestTheOverviewSaysWhereThingsAre(t *testing.T) {
	report(t, checkWhere(document(t, "docs/overview.md"), exported(read(t))))
}

func TestTheMethodNamesSymbolsThatExist(t *testing.T) {
	report(t, checkSymbols(document(t, "docs/method.md"), exported(read(t))))
}

func TestDocsNameTestsThatExist(t *testing.T) {
	tests := testNames(read(t))
	for _, s := range read(t) {
		if s.ast == nil {
			report(t, checkTestNames(s, tests))
		}
	}
}

func TestDocsLinkToFilesThatExist(t *testing.T) {
	for _, s := range read(t) {
		if s.ast == nil {
			report(t, checkLinks(s, os.DirFS(root)))
		}
	}
}

func document(t *testing.T, name string) source {
	t.Helper()

	for _, s := range read(t) {
		if s.name == name {
			return s
		}
	}
	t.Fatalf("%s does not exist, want it", name)

	return source{}
}

// fewestRows is the least number of questions that the overview's table must answer.
const fewestRows = 20

var (
	quoted   = regexp.MustCompile("`([^`]+)`")
	symbol   = regexp.MustCompile(`^((?:[a-z0-9_]+/)*[a-z0-9_]+)\.([A-Za-z_]\w*)(?:\.([A-Za-z_]\w*))?$`)
	testName = regexp.MustCompile(`\b(?:Test|Benchmark|Fuzz)[A-Z]\w+`)
	link     = regexp.MustCompile(`\]\(([^)#\s]+)(?:#[^)]*)?\)`)
)

// checkWhere checks the table whose first heading begins with "Where is": the last cell of each row names the symbols
// that answer it.
func checkWhere(s source, known map[string]symbols) []problem {
	var problems []problem
	rows, inside := 0, false
	for i, line := range strings.Split(s.text, "\n") {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		switch {
		case !strings.HasPrefix(line, "|"):
			inside = false
		case strings.HasPrefix(strings.ToLower(strings.TrimSpace(cells[0])), "where is"):
			inside = true
		case inside && strings.Trim(line, "|-: ") != "":
			rows++
			last := quoted.FindAllStringSubmatch(cells[len(cells)-1], -1)
			if len(last) == 0 {
				problems = append(problems, problem{
					file: s.name, line: i + 1,
					text: "the last column names no symbol: write one in backquotes, as in `internal/store.Open`",
				})
			}
			for _, q := range last {
				if why := missing(q[1], known); why != "" {
					problems = append(problems, problem{file: s.name, line: i + 1, text: why})
				}
			}
		}
	}

	if rows < fewestRows {
		problems = append(problems, problem{file: s.name, line: 1, text: fmt.Sprintf(
			`the table "Where is …" has %d rows: answer at least %d questions`, rows, fewestRows)})
	}

	return problems
}

// checkSymbols checks every name in backquotes that looks like a symbol of this module. A lower-case name that begins
// with no package of this module is a key of a specification or of a store.
func checkSymbols(s source, known map[string]symbols) []problem {
	var problems []problem
	for i, line := range strings.Split(s.text, "\n") {
		for _, q := range quoted.FindAllStringSubmatch(line, -1) {
			m := symbol.FindStringSubmatch(q[1])
			if m == nil {
				continue
			}

			_, isPackage := known[m[1]]
			if !isPackage && !ast.IsExported(m[2]) {
				continue
			}
			if why := missing(q[1], known); why != "" {
				problems = append(problems, problem{file: s.name, line: i + 1, text: why})
			}
		}
	}

	return problems
}

// missing explains why name is not a symbol of this module, or returns "".
func missing(name string, known map[string]symbols) string {
	m := symbol.FindStringSubmatch(name)
	if m == nil {
		return fmt.Sprintf("%q does not look like a symbol: write path/to/pkg.Symbol or path/to/pkg.Type.Method", name)
	}

	found, ok := known[m[1]]
	if !ok {
		return fmt.Sprintf("%q is in the package %s, which does not exist: correct its path", name, m[1])
	}

	member := m[2]
	if m[3] != "" {
		member += "." + m[3]
	}
	if !found[member] {
		return fmt.Sprintf("%q does not exist in %s: name what took its place", name, m[1])
	}

	return ""
}

// symbols are the top-level names of a package, and Type.Member for methods and fields.
type symbols map[string]bool

// exported returns the symbols of each package, by its path below the module. Test files are left out.
func exported(files []source) map[string]symbols {
	all := map[string]symbols{}
	for _, f := range files {
		if f.ast == nil || f.isTest() {
			continue
		}

		dir := path.Dir(f.name)
		if all[dir] == nil {
			all[dir] = symbols{}
		}
		for _, d := range f.ast.Decls {
			all[dir].declare(d)
		}
	}

	return all
}

func (s symbols) declare(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			s[d.Name.Name] = true
		} else {
			s[receiver(d)+"."+d.Name.Name] = true
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			s.specify(spec)
		}
	}
}

func (s symbols) specify(spec ast.Spec) {
	switch spec := spec.(type) {
	case *ast.ValueSpec:
		for _, n := range spec.Names {
			s[n.Name] = true
		}
	case *ast.TypeSpec:
		s[spec.Name.Name] = true

		var members *ast.FieldList
		switch t := spec.Type.(type) {
		case *ast.StructType:
			members = t.Fields
		case *ast.InterfaceType:
			members = t.Methods
		default:
			return
		}
		for _, f := range members.List {
			for _, n := range f.Names {
				s[spec.Name.Name+"."+n.Name] = true
			}
		}
	}
}

// receiver returns the name of a method's type, without its pointer and type parameters.
func receiver(d *ast.FuncDecl) string {
	t := d.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	switch generic := t.(type) {
	case *ast.IndexExpr:
		t = generic.X
	case *ast.IndexListExpr:
		t = generic.X
	}

	return lastName(t)
}

// testNames returns the names of all tests, benchmarks and fuzz targets.
func testNames(files []source) map[string]bool {
	names := map[string]bool{}
	for _, f := range files {
		if f.ast == nil || !f.isTest() {
			continue
		}
		for _, d := range f.ast.Decls {
			if fun, ok := d.(*ast.FuncDecl); ok && fun.Recv == nil {
				names[fun.Name.Name] = true
			}
		}
	}

	return names
}

func checkTestNames(s source, known map[string]bool) []problem {
	var problems []problem
	for i, line := range strings.Split(s.text, "\n") {
		for _, name := range testName.FindAllString(line, -1) {
			if !known[name] {
				problems = append(problems, problem{file: s.name, line: i + 1, text: name +
					" is not a test of this repository: correct its name"})
			}
		}
	}

	return problems
}

// checkLinks checks the relative links of a page. Lines of code and addresses elsewhere are left out.
func checkLinks(s source, tree fs.FS) []problem {
	var problems []problem
	for i, line := range strings.Split(s.text, "\n") {
		for _, m := range link.FindAllStringSubmatch(line, -1) {
			if strings.Contains(m[1], ":") {
				continue
			}

			target := path.Join(path.Dir(s.name), m[1])
			if _, err := fs.Stat(tree, target); err != nil {
				problems = append(problems, problem{file: s.name, line: i + 1, text: fmt.Sprintf(
					"the link %q leads to %s, which does not exist: correct it", m[1], target)})
			}
		}
	}

	return problems
}
