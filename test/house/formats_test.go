package house

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestFormatsAreConstant checks that no text of a server, a file or a user is used as a format, whose verbs would then
// be shown as %!v(MISSING). It also checks that formats have as many verbs as arguments, even where vet does not look:
// in function values.
func TestFormatsAreConstant(t *testing.T) { report(t, checkFormats(read(t))) }

func TestHouseFindsFormatsThatAreNotConstant(t *testing.T) {
	for body, wants := range map[string][]string{
		`say(text+"%s", x)`:        {"constant"},
		`say(usual+"%s", x)`:       {},
		`say("%d of %d", 1)`:       {"2 verbs and 1 arguments"},
		`say("%[1]s %[1]s %%", 1)`: {},
		`say("%s", x, y)`:          {"1 verbs and 2 arguments"},
		`say("%s", list...)`:       {},
		`say("%-*s", 1, x)`:        {},
		`say("%-*s", x)`:           {"2 verbs and 1 arguments"},
		`x.say(text+"%s", x)`:      {},
	} {
		t.Run(body, func(t *testing.T) {
			mustFind(t, checkFormats(inFunction(t, body)), wants...)
		})
	}
}

// callee is the form in which a function is called: by its name alone, or after a package or a receiver.
type callee struct {
	folder   string // empty if the name is exported
	name     string
	selected bool
}

func newCallee(f source, name string, selected bool) callee {
	if ast.IsExported(name) {
		return callee{name: name, selected: selected}
	}

	return callee{folder: path.Dir(f.name), name: name, selected: selected}
}

func calleeOf(f source, call *ast.CallExpr) callee {
	_, selected := call.Fun.(*ast.SelectorExpr)

	return newCallee(f, lastName(call.Fun), selected)
}

// noFormat is the place of the format for a function that has no format but shares its name with one that does.
const noFormat = -1

// formatters returns the places of the format among the arguments of functions and function values that end in
// (format string, args ...any): functions with the same name may have it in different places.
func formatters(files []source) map[callee][]int {
	out := map[callee][]int{
		{"", "Errorf", true}: {0}, {"", "Sprintf", true}: {0}, {"", "Fprintf", true}: {1},
		{"internal/method/spec", "must", false}: {2},
	}
	add := func(file source, name string, f *ast.FuncType, method bool) {
		var params []string
		last := ""
		for _, p := range f.Params.List {
			for range max(1, len(p.Names)) {
				params = append(params, "")
			}
			for i, n := range p.Names {
				params[len(params)-len(p.Names)+i] = n.Name
			}
			if e, ok := p.Type.(*ast.Ellipsis); ok && lastName(e.Elt) == "any" {
				last = params[len(params)-1]
			}
		}
		place := noFormat
		if n := len(params); n >= 2 && last != "" && params[n-2] == "format" {
			place = n - 2
		} else if ast.IsExported(name) {
			return // other packages have functions of the same name
		}
		for _, selected := range []bool{false, true} {
			if key := newCallee(file, name, selected); selected == method || ast.IsExported(name) {
				out[key] = append(out[key], place)
			}
		}
	}
	for _, f := range files {
		if f.ast == nil || f.isTest() {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				add(f, n.Name.Name, n.Type, n.Recv != nil)
			case *ast.AssignStmt:
				if fn, ok := n.Rhs[0].(*ast.FuncLit); ok {
					add(f, lastName(n.Lhs[0]), fn.Type, false)
				}
			}

			return true
		})
	}

	return out
}

// constants returns the names of all constants, by folder.
func constants(files []source) map[string]bool {
	out := map[string]bool{}
	for _, f := range files {
		if f.ast == nil {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if d, ok := n.(*ast.GenDecl); ok && d.Tok == token.CONST {
				for _, spec := range d.Specs {
					for _, name := range spec.(*ast.ValueSpec).Names {
						out[path.Dir(f.name)+"."+name.Name] = true
						out["."+name.Name] = out["."+name.Name] || name.IsExported()
					}
				}
			}

			return true
		})
	}

	return out
}

func checkFormats(files []source) []problem {
	var problems []problem
	places := formatters(files)
	known := constants(files)
	wrong := func(f source, call *ast.CallExpr, place int) string {
		text, holes := flatten(call.Args[place])
		for _, h := range holes {
			_, selected := h.(*ast.SelectorExpr)
			if !known[path.Dir(f.name)+"."+lastName(h)] && !(selected && known["."+lastName(h)]) {
				return "a format must be constant: insert what varies with a verb, so that it is never read as one"
			}
		}
		verbs := highest(text)
		if args := len(call.Args) - place - 1; len(holes) == 0 && verbs != args {
			return fmt.Sprintf("the format %q has %d verbs and %d arguments", text, verbs, args)
		}

		return ""
	}
	for _, f := range files {
		if f.ast == nil || f.isTest() || !isShipped(f.name) {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			key := calleeOf(f, call)
			if call.Ellipsis.IsValid() || slices.Contains(places[key], noFormat) {
				return true // it passes on a format of its own, or may lack one
			}
			why := ""
			for _, place := range places[key] {
				if place < len(call.Args) && isText(call.Args[place]) {
					if why = wrong(f, call, place); why == "" {
						return true
					}
				}
			}
			if why != "" {
				problems = append(problems, problem{f.name, f.line(call.Pos()), why})
			}

			return true
		})
	}

	return problems
}

// highest returns how many arguments a format takes.
func highest(text string) int {
	next, most := 0, 0
	for _, m := range verb.FindAllStringSubmatch(text, -1) {
		if m[3] == "%" || m[0] == hole {
			continue
		}
		for _, explicit := range []string{m[1], m[2]} {
			if explicit != "" {
				next, _ = strconv.Atoi(explicit)
				next--
			}
		}
		next += 1 + strings.Count(m[0], "*") // widths are arguments, too
		most = max(most, next)
	}

	return most
}
