package house

import (
	"go/ast"
	"go/types"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/test/kit/layout"
)

// TestEveryKindOfObjectIsInTheLayout checks that every function that names an object of the store, or writes one under
// a key of its own, is in the layout, which lists the roles that may read and write the object.
func TestEveryKindOfObjectIsInTheLayout(t *testing.T) {
	report(t, checkLayout(read(t), inLayout(), keysOfOthers))
}

// keysOfOthers are the functions that write objects under keys that other functions name.
var keysOfOthers = map[string]string{
	"internal/store.RecordOnce":                   "for its callers",
	"internal/store.WriteOnce":                    "for its callers",
	"internal/records/runs.object":                "for the methods of Run",
	"internal/records/runs.Object[T].Record":      "the key of the object",
	"internal/records/runs.Object[T].Write":       "the key of the object",
	"internal/care/collect.bringBack":             "what a collection has removed",
	"internal/care/fork.Fork.copy":                "what a fork copies",
	"internal/care/transfer.transfer.one":         "what another store has",
	"internal/care/transfer.transfer.retirements": "what another store has",
	"activities/epoch.ValResult":                  "the result of an evaluation",
}

// inLayout returns the functions that the kinds of the layout name.
func inLayout() map[string]bool {
	out := map[string]bool{}
	for _, k := range layout.Kinds {
		for _, name := range strings.Fields(k.Named) {
			out[name] = true
		}
	}

	return out
}

// checkLayout finds functions that name or write objects and are in no list, and entries for functions that do neither.
func checkLayout(files []source, named map[string]bool, elsewhere map[string]string) []problem {
	const file = "test/kit/layout/kinds.go"
	const what = ": it names or writes an object of the store. Add the kind of object to " + file + " with the roles " +
		"that read and write it, or, if others name the key, the function to keysOfOthers. Then write the policies: " +
		"COLLABUI_UPDATE_GOLDEN=1 go test ./test/kit/layout"
	var problems []problem
	found := map[string]bool{}
	for _, f := range files {
		if f.ast == nil || strings.HasSuffix(f.name, "_test.go") || strings.HasPrefix(f.name, "test/") {
			continue
		}
		for _, decl := range f.ast.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || !namesObject(fn) {
				continue
			}
			name := path.Dir(f.name) + "." + funcName(fn)
			found[name] = true
			if !named[name] && elsewhere[name] == "" {
				problems = append(problems, problem{f.name, f.line(fn.Pos()), name + what})
			}
		}
	}
	for name := range named {
		if !found[name] {
			problems = append(problems, problem{file, 0, name + " names and writes no object: remove it"})
		}
	}
	for name := range elsewhere {
		if !found[name] {
			problems = append(problems, problem{file, 0, name + " names and writes no object: remove it"})
		}
	}

	return problems
}

// namesObject reports whether a function returns an object of a run or of something else, makes one by its key, or
// writes one.
func namesObject(fn *ast.FuncDecl) bool {
	if fn.Type.Results != nil {
		for _, r := range fn.Type.Results.List {
			if isObject(r.Type) {
				return true
			}
		}
	}
	found := false
	ast.Inspect(fn, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			found = found || isObject(n.Type)
		case *ast.CallExpr:
			called := n.Fun
			if generic, ok := called.(*ast.IndexExpr); ok {
				called = generic.X
			}
			found = found || slices.Contains([]string{"PutOnce", "RecordOnce", "WriteOnce"}, lastName(called))
		}

		return true
	})

	return found
}

// isObject reports whether a type is runs.Object of something.
func isObject(t ast.Expr) bool {
	generic, ok := t.(*ast.IndexExpr)

	return ok && (types.ExprString(generic.X) == "Object" || types.ExprString(generic.X) == "runs.Object")
}

func TestTheCheckOfTheLayoutFindsWhatItLacks(t *testing.T) {
	f, err := parsed("internal/store/x/x.go", `package x
func (r Run) New(n int) Object[New] { return object[New](r, "new/%04d", n) }
func (r Run) Old() runs.Object[Old] { return object[Old](r, "old") }
func a() { store.RecordOnce(ctx, b, "x.json", make) }
func b() { v, _, err := store.WriteOnce[int](ctx, b, "x.json", 1) }
func c() { o := runs.Object[int]{Key: "x.json"} }
func d() { bucket.PutOnce(ctx, key, raw) }
func e() { run.Old().Record(ctx, b, make) }
`)
	if err != nil {
		t.Fatal(err)
	}
	problems := checkLayout([]source{f}, map[string]bool{"internal/store/x.Run.Old": true, "gone": true},
		map[string]string{"internal/store/x.d": "listed"})
	mustFind(t, problems, "internal/store/x.Run.New: it names", "internal/store/x.a: it names",
		"internal/store/x.b: it names", "internal/store/x.c: it names", "gone names and writes no object")
}
