package house

import (
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func TestFailuresSayWhatWasWanted(t *testing.T) {
	var problems []problem
	for _, s := range read(t) {
		if s.ast != nil && (s.isTest() || importsTesting(s.ast)) {
			problems = append(problems, checkFailures(s)...)
		}
	}

	report(t, problems)
}

func importsTesting(f *ast.File) bool {
	for _, i := range f.Imports {
		if i.Path.Value == `"testing"` {
			return true
		}
	}

	return false
}

const bare = `the failure is bare: print what you got and what you wanted, ` +
	`as in t.Errorf("Parse(%q) = %v, want %v", in, got, want)`

var (
	failing = map[string]bool{"Error": true, "Errorf": true, "Fatal": true, "Fatalf": true}
	wanting = regexp.MustCompile(`\bwant(ed|s)?\b`)
	// testers are the types whose methods fail a test; T alone is a local name for what they have in common.
	testers = map[string]bool{
		"testing.T": true, "testing.B": true, "testing.F": true, "testing.TB": true, "T": true, "TB": true,
	}
)

// checkFailures finds failures that print neither what they got nor what they wanted.
func checkFailures(s source) []problem {
	names := testerNames(s.ast)

	var problems []problem
	ast.Inspect(s.ast, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}

		fun, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || !failing[fun.Sel.Name] || !names[lastName(fun.X)] || len(call.Args) == 0 {
			return true
		}

		loneError := len(call.Args) == 1 && strings.Contains(strings.ToLower(lastName(call.Args[0])), "err")
		if !loneError && !saysWant(call.Args) {
			problems = append(problems, problem{file: s.name, line: s.line(call.Pos()), text: bare})
		}

		return true
	})

	return problems
}

// testerNames returns the names of variables, parameters and fields in f that are testers.
func testerNames(f *ast.File) map[string]bool {
	names := map[string]bool{}
	add := func(ids []*ast.Ident, t ast.Expr) {
		if !testers[typeName(t)] {
			return
		}
		for _, id := range ids {
			names[id.Name] = true
		}
		if len(ids) == 0 { // embedded
			names[lastName(t)] = true
		}
	}

	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			add(n.Names, n.Type)
		case *ast.ValueSpec:
			if n.Type != nil {
				add(n.Names, n.Type)
			}
		}
		return true
	})

	// A test's receiver may come from another file of the package, with its usual name.
	for _, usual := range []string{"t", "tb"} {
		names[usual] = true
	}

	return names
}

// typeName returns "testing.T" for *testing.T.
func typeName(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return typeName(t.X)
	case *ast.SelectorExpr:
		return typeName(t.X) + "." + t.Sel.Name
	case *ast.Ident:
		return t.Name
	default:
		return ""
	}
}

// lastName returns c for a.b.c, and "" for what is not a name.
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

func saysWant(args []ast.Expr) bool {
	found := false
	for _, a := range args {
		ast.Inspect(a, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				text, err := strconv.Unquote(lit.Value)
				found = found || err == nil && wanting.MatchString(text)
			}
			return true
		})
	}

	return found
}

func TestTheCheckOfFailuresFindsBareOnes(t *testing.T) {
	for _, c := range []struct {
		name, body string
		bare       bool
	}{
		{name: "got and want", body: `t.Errorf("f() = %v, want %v", got, want)`},
		{name: "wanted", body: `t.Fatal("no error, wanted one")`},
		{name: "want in a longer text", body: `t.Fatalf("a " + "but want %v", 1)`},
		{name: "want on a line of its own", body: `t.Errorf("got\n%s\nwant\n%s", got, want)`},
		{name: "an error alone", body: `t.Fatal(err)`},
		{name: "an error by another name", body: `t.Error(closeErr)`},
		{name: "an error's text", body: `_ = err.Error()`},
		{name: "another package", body: `log.Fatal("no")`},
		{name: "an error is made", body: `err = fmt.Errorf("no")`},
		{name: "another type", body: `s.log.Error("no")`},
		{name: "values only", body: `t.Fatal(got, err)`, bare: true},
		{name: "an error with words", body: `t.Fatalf("open: %v", err)`, bare: true},
		{name: "a value alone", body: `t.Error(got)`, bare: true},
		{name: "wanton", body: `t.Error("wanton")`, bare: true},
		{name: "want as a value", body: `t.Error(want)`, bare: true},
		{name: "a benchmark", body: `b.Fatal("slow")`, bare: true},
		{name: "a field", body: `s.test.Errorf("no")`, bare: true},
		{name: "in a closure", body: `func() { t.Error("no") }()`, bare: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := parsed("a_test.go", "package a\n\ntype suite struct { test testing.TB; log *slog.Logger }\n\n"+
				"func f(t *testing.T, b *testing.B, s *suite) {\n\t"+c.body+"\n}\n")
			if err != nil {
				t.Fatal(err)
			}

			var want []string
			if c.bare {
				want = []string{"a_test.go:6: the failure is bare"}
			}
			mustFind(t, checkFailures(s), want...)
		})
	}
}
