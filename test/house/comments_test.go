package house

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// A package comment may list things that its package never links. The claims are checked, so that they stay true.

func TestPackageCommentsKeepTheirClaims(t *testing.T) {
	report(t, checkComments(listed(t), read(t)))
}

// claims are sentences of package comments, with the packages that must not be linked for them to hold.
var claims = map[string]func(p pkg, all map[string]pkg) []string{
	"It does no I/O.":             doesIO,
	"It links no browser driver.": func(p pkg, _ map[string]pkg) []string { return with(p.Deps, browserDriver) },
	"It links no Temporal.":       func(p pkg, _ map[string]pkg) []string { return with(p.Deps, temporal) },
}

// effects are the packages that do I/O, each with everything below it. net/url and similar packages only compute.
var effects = []string{
	"os", "net/http", "net/rpc", "net/smtp", "database/sql", "io/ioutil", "syscall", "golang.org/x/sys",
	"github.com/minio", "github.com/redis", "github.com/chromedp", "github.com/coder/websocket", "go.temporal.io",
}

// doesIO returns the imports that do I/O, of p and of the packages of this module that it links.
func doesIO(p pkg, all map[string]pkg) []string {
	var found []string
	for _, name := range append([]string{p.ImportPath}, p.Deps...) {
		linked, ok := all[name]
		if !ok {
			continue
		}

		bad := with(linked.Imports, effects...)
		if slices.Contains(linked.Imports, "net") {
			bad = append(bad, "net")
		}
		for _, b := range bad {
			found = append(found, linked.below()+" → "+b)
		}
	}

	return found
}

// with returns the paths that are one of prefixes or lie below one.
func with(paths []string, prefixes ...string) []string {
	var found []string
	for _, p := range paths {
		for _, prefix := range prefixes {
			if p == prefix || strings.HasPrefix(p, prefix+"/") {
				found = append(found, p)
				break
			}
		}
	}

	return found
}

// checkComments finds claims of package comments that do not hold. revive checks that a comment exists.
func checkComments(all []pkg, files []source) (problems []problem) {
	byPath, byFolder := map[string]pkg{}, map[string]pkg{}
	for _, p := range all {
		byPath[p.ImportPath], byFolder[p.below()] = p, p
	}
	for _, f := range files {
		p, known := byFolder[path.Dir(f.name)]
		if !known || f.ast == nil || f.ast.Doc == nil || f.isTest() || strings.HasPrefix(f.name, "test/") {
			continue
		}
		text := strings.Join(strings.Fields(f.ast.Doc.Text()), " ")
		for _, claim := range slices.Sorted(maps.Keys(claims)) {
			if !strings.Contains(text, claim) {
				continue
			}
			if bad := claims[claim](p, byPath); len(bad) > 0 {
				problems = append(problems, problem{f.name, f.line(f.ast.Doc.Pos()), fmt.Sprintf(
					"the package comment says %q, but the package links %s: remove one of them", claim,
					strings.Join(bad, ", "))})
			}
		}
	}

	return problems
}

func TestTheCheckOfPackageCommentsFindsViolations(t *testing.T) {
	domain, files := module+"/domain", module+"/internal/files"
	for _, c := range []struct {
		comment string
		imports []string
		deps    []string
		want    []string
	}{
		{comment: "Package a does it. It does no I/O.", imports: []string{domain}, deps: []string{domain}},
		{
			comment: "Package a. It does no I/O.", imports: []string{domain}, deps: []string{domain, files},
			want: []string{"links internal/files → os"},
		},
		{
			comment: "Package a. It links no browser\ndriver.",
			deps:    []string{"github.com/chromedp/chromedp"}, want: []string{"links github.com/chromedp/chromedp"},
		},
		{
			comment: "Package a. It links no Temporal.",
			deps:    []string{"go.temporal.io/sdk/log"}, want: []string{"links go.temporal.io/sdk/log"},
		},
	} {
		f, err := parsed("a/a.go", "/*\n"+c.comment+"\n*/\npackage a\n")
		if err != nil {
			t.Fatal(err)
		}
		mustFind(t, checkComments([]pkg{
			{ImportPath: module + "/a", Imports: c.imports, Deps: c.deps},
			{ImportPath: domain, Imports: []string{"strings"}}, {ImportPath: files, Imports: []string{"os"}},
		}, []source{f}), c.want...)
	}
}
