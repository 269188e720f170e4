package house

import (
	"fmt"
	"go/ast"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// A package comment may claim what its package never links. The claims are checked, so a comment is never a wish.

func TestPackageCommentsKeepTheirClaims(t *testing.T) {
	report(t, checkComments(listed(t), read(t)))
}

// claims are sentences of package comments, with what a package must not link to make them.
var claims = map[string]func(p pkg, all map[string]pkg) []string{
	"It does no I/O.":             doesIO,
	"It links no browser driver.": func(p pkg, _ map[string]pkg) []string { return with(p.Deps, browserDriver) },
	"It links no Temporal.":       func(p pkg, _ map[string]pkg) []string { return with(p.Deps, temporal) },
}

// effects are the packages that do I/O, each with everything below it. net/url and the like only compute.
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

// with returns those of paths that are one of prefixes or lie below one.
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

func checkComments(all []pkg, files []source) []problem {
	byPath := map[string]pkg{}
	for _, p := range all {
		byPath[p.ImportPath] = p
	}

	var problems []problem
	for _, p := range all {
		if p.below() == "test" || strings.HasPrefix(p.below(), "test/") {
			continue
		}

		var own []source
		for _, f := range files {
			if f.ast != nil && path.Dir(f.name) == p.below() && slices.Contains(p.GoFiles, path.Base(f.name)) {
				own = append(own, f)
			}
		}
		problems = append(problems, checkComment(p, byPath, own)...)
	}

	return problems
}

// checkComment checks the comment of one package, whose files are own.
func checkComment(p pkg, all map[string]pkg, own []source) []problem {
	var commented []source
	generated := true
	for _, f := range own {
		if f.ast.Doc != nil {
			commented = append(commented, f)
		}
		generated = generated && ast.IsGenerated(f.ast)
	}

	if generated {
		return nil
	}
	if len(commented) != 1 {
		return []problem{{file: own[0].name, line: 1, text: fmt.Sprintf(
			"package %s has %d package comments: write exactly one", p.below(), len(commented))}}
	}

	f := commented[0]
	at := problem{file: f.name, line: f.line(f.ast.Doc.Pos())}
	say := func(format string, args ...any) []problem {
		at.text = fmt.Sprintf(format, args...)
		return []problem{at}
	}

	text := strings.Join(strings.Fields(f.ast.Doc.Text()), " ")
	var problems []problem
	for _, claim := range slices.Sorted(maps.Keys(claims)) {
		if !strings.Contains(text, claim) {
			continue
		}
		if bad := claims[claim](p, all); len(bad) > 0 {
			problems = append(problems, say("the package comment says %q, but the package links %s: remove one of them",
				claim, strings.Join(bad, ", "))...)
		}
	}

	return problems
}

func TestTheCheckOfPackageCommentsFindsViolations(t *testing.T) {
	domain := pkg{ImportPath: module + "/domain", Imports: []string{"strings"}}
	files := pkg{ImportPath: module + "/internal/files", Imports: []string{"os"}}
	linked := map[string]pkg{domain.ImportPath: domain, files.ImportPath: files}

	one := []string{domain.ImportPath}
	two := []string{domain.ImportPath, files.ImportPath}

	for _, c := range []struct {
		name    string
		comment string
		imports []string
		deps    []string
		want    []string
	}{
		{name: "right", comment: "Package a does it. It does no I/O.", imports: one, deps: one},
		{name: "no comment", want: []string{"write exactly one"}},
		{
			name: "I/O two packages down", comment: "Package a. It does no I/O.",
			imports: one, deps: two, want: []string{"links internal/files → os"},
		},
		{
			name: "a claim over two lines", comment: "Package a. It links no browser\ndriver.",
			deps: []string{"github.com/chromedp/chromedp"}, want: []string{"links github.com/chromedp/chromedp"},
		},
		{
			name: "Temporal", comment: "Package a. It links no Temporal.",
			deps: []string{"go.temporal.io/sdk/log"}, want: []string{"links go.temporal.io/sdk/log"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			comment := ""
			if c.comment != "" {
				comment = "/*\n" + c.comment + "\n*/\n"
			}
			f, err := parsed("a/a.go", comment+"package a\n")
			if err != nil {
				t.Fatal(err)
			}

			p := pkg{ImportPath: module + "/a", GoFiles: []string{"a.go"}, Imports: c.imports, Deps: c.deps}
			mustFind(t, checkComment(p, linked, []source{f}), c.want...)
		})
	}
}
