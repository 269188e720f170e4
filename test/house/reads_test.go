package house

import (
	"go/ast"
	"go/types"
	"path"
	"strings"
	"testing"
)

// TestReadsAbsenceIsNotEvidence checks that every read of the store that may find nothing is listed in reads, with the
// reason why that is right. A store may be late, so nothing may be removed, skipped or decided because one request
// found nothing. The name of the method shows what absence means:
//
//   - Must reads what exists: absence is a fault. It needs no reason.
//   - May, Exists and MayBlob read what may exist: the outcome is the same if the store shows it only later.
//   - Sure reads what a decision depends on: two requests must agree that it is absent.
//   - After, End and Next read logs. After and End are Sure of the end; Next is called again.
func TestReadsAbsenceIsNotEvidence(t *testing.T) {
	report(t, checkReads(read(t), reads))
}

// checkReads finds reads that are not listed, and entries for reads that are gone. A site is FOLDER.FUNCTION KIND;
// FOLDER KIND stands for all functions of a folder.
func checkReads(files []source, why map[string]string) []problem {
	var problems []problem
	found := map[string]bool{}
	for _, f := range files {
		if f.ast == nil || !readsAreListed(f.name) {
			continue
		}
		folder := path.Dir(f.name)
		for _, decl := range f.ast.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			name := folder + "." + funcName(fn)
			ast.Inspect(fn, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				kind := kindOfRead(call)
				inside := strings.HasPrefix(folder, "internal/records/") || strings.HasPrefix(folder, "internal/care/")
				if kind == "" || kind == "ErrNotFound" && inside { // where raw objects are read
					return true
				}
				site, all := name+" "+kind, folder+" "+kind
				found[site], found[all] = true, true
				if why[site] == "" && why[all] == "" {
					problems = append(problems, problem{f.name, f.line(call.Pos()), site + ": this read may find " +
						"nothing. Use Must of internal/records/runs, or list it in test/house/reads_list_test.go and " +
						"say why the end is the same if the store is late"})
				}

				return true
			})
		}
	}
	for site := range why {
		if !found[site] {
			problems = append(problems, problem{"test/house/reads_list_test.go", 0, site + " reads nothing: remove it"})
		}
	}

	return problems
}

// readsAreListed reports whether the reads of a file must be listed. Package store and the types through which it is
// read implement the rule themselves, so their reads need not be.
func readsAreListed(name string) bool {
	switch folder := path.Dir(name); {
	case strings.HasSuffix(name, "_test.go"), folder == "internal/store",
		name == "internal/records/runs/keys.go", name == "internal/records/runs/log.go",
		strings.HasPrefix(name, "test/"), strings.HasPrefix(name, "deploy/"), strings.HasPrefix(name, "tools/"):
		return false
	}

	return true
}

// funcName returns the name of a function, with the type of its receiver.
func funcName(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return fn.Name.Name
	}

	return strings.TrimPrefix(types.ExprString(fn.Recv.List[0].Type), "*") + "." + fn.Name.Name
}

// kindOfRead returns the kind of a read that may find nothing, or "" for any other call. A test for store.ErrNotFound
// counts as one.
func kindOfRead(call *ast.CallExpr) string {
	fun := call.Fun
	if generic, ok := fun.(*ast.IndexExpr); ok {
		fun = generic.X
	}
	sel, ok := fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	switch name, args := sel.Sel.Name, len(call.Args); {
	case (name == "May" || name == "Exists" || name == "Sure") && args >= 2, name == "MayBlob",
		(name == "Next" || name == "End") && args == 3, name == "After" && args == 4:
		return name
	case name == "Is" && args == 2 && types.ExprString(call.Args[1]) == "store.ErrNotFound":
		return "ErrNotFound"
	}

	return ""
}

func TestTheCheckOfReadsFindsThoseThatAreNotListed(t *testing.T) {
	f, err := parsed("activities/x.go", `package activities
func (c *Control) a() { v, there, err := run.Made(1).May(ctx, c.Bucket) }
func b() { v, there, err := store.Sure[int](ctx, b, key) }
func c() { if errors.Is(err, store.ErrNotFound) { return } }
func d() { v, _, err := run.Made(1).Must(ctx, c.Bucket) }
func e() { all, err := log.After(ctx, b, 0, 0) }
func f() { <-time.After(time.Second) }
`)
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]string{"activities.e After": "listed", "activities.gone May": "gone"}
	problems := checkReads([]source{f}, listed)
	mustFind(t, problems, "activities.Control.a May", "activities.b Sure", "activities.c ErrNotFound",
		"activities.gone May reads nothing")
}
