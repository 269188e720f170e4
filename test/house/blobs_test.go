package house

import (
	"go/ast"
	"path"
	"slices"
	"strings"
	"testing"
)

// TestEveryBlobIsNamedByAManifest checks that every function that writes blobs is listed in blobs, with the manifest
// that names the blob before anything else knows about it, because gc removes blobs that no manifest names. References
// in the history of a workflow, a cache or the memory of a process do not count.
func TestEveryBlobIsNamedByAManifest(t *testing.T) {
	report(t, checkBlobs(read(t), blobs))
}

// checkBlobs finds functions that write blobs and are not listed, and entries for functions that write no blobs.
func checkBlobs(files []source, named map[string]string) []problem {
	found := map[string]bool{}
	var problems []problem
	for _, f := range files {
		if f.ast == nil || strings.HasSuffix(f.name, "_test.go") || strings.HasPrefix(f.name, "test/") {
			continue
		}
		for _, decl := range f.ast.Decls {
			where := path.Dir(f.name)
			passesOn := slices.ContainsFunc(putters, func(name string) bool { return isDeclared(decl, name) })
			if fn, ok := decl.(*ast.FuncDecl); ok {
				where += "." + funcName(fn)
			}
			ast.Inspect(decl, func(n ast.Node) bool {
				name, ok := n.(*ast.Ident)
				if !ok || !slices.Contains(putters, name.Name) || isDeclared(decl, name.Name) {
					return true
				}
				found[where] = true
				if named[where] == "" && !passesOn {
					problems = append(problems, problem{f.name, f.line(name.Pos()), where + ": it writes a blob. " +
						"Record a manifest that names the blob before anything else knows of it, and say which in " +
						"test/house/blobs_list_test.go"})
				}

				return true
			})
		}
	}
	for where := range named {
		if !found[where] {
			p := problem{"test/house/blobs_list_test.go", 0, where + " writes no blob: remove it"}
			problems = append(problems, p)
		}
	}

	return problems
}

// isDeclared reports whether an identifier is the name of the declared function.
func isDeclared(decl ast.Decl, name string) bool {
	fn, ok := decl.(*ast.FuncDecl)

	return ok && fn.Name.Name == name
}

func TestTheCheckOfBlobsFindsThoseThatAreNotListed(t *testing.T) {
	f, err := parsed("activities/x.go", `package activities
func (c *Control) a() { ref, err := store.PutBlob(ctx, c.Bucket, raw) }
func b() { ref, err := runs.PutPairs(ctx, b, rows) }
func c() { ref, err := offer.PutBlob(ctx, b) }
func d() { put := store.PutBlobFile; put(ctx, b, file) }
func e() { store.GetBlob(ctx, b, sum) }
var f = store.PutBlob
`)
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]string{"activities.b": "listed", "activities.gone": "gone"}
	problems := checkBlobs([]source{f}, listed)
	mustFind(t, problems, "activities.Control.a: it writes", "activities.c: it writes", "activities.d: it writes",
		"activities: it writes", "activities.gone writes no blob")
}
