package house

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestCommandsThatAreShownCanBePasted checks that values inserted into a command of an error or a page are quoted for a
// shell: a folder with a blank in its name would otherwise be two arguments.
func TestCommandsThatAreShownCanBePasted(t *testing.T) { report(t, checkPasted(read(t))) }

func TestHouseFindsWhatCannotBePasted(t *testing.T) {
	for body, wants := range map[string][]string{
		"fail(\"see `collabui show %s`\", file)":                                           {"show %s"},
		"fail(\"see `collabui show %s`\", fault.ShellQuote(run))":                          {},
		"fail(\"run %s: `collabui show %[1]s`\", file)":                                    {"show %[1]s"},
		"fail(\"budget of %s: `collabui set %s tokens=%d`\", x, fault.ShellQuote(run), 3)": {},
		"fail(\"start `collabui worker \" + kind + \"`\")":                                 {"worker"},
		"line = \"collabui infer \" + file":                                                {"infer"},
		"fail(\"`collabui fsck` says %s\", x)":                                             {},
	} {
		t.Run(body, func(t *testing.T) { mustFind(t, checkPasted(inFunction(t, body)), wants...) })
	}
}

// inFunction returns a file with a function that has the body.
func inFunction(t *testing.T, body string) []source {
	t.Helper()
	const head = "package x\n\nconst usual = \"a\"\n\nfunc say(format string, args ...any) {}\n\n"
	s, err := parsed("internal/x/x.go", head+"func f() {\n\t"+body+"\n}\n")
	if err != nil {
		t.Fatal(err)
	}

	return []source{s}
}

// hole replaces a part that is not a literal in a flattened text.
const hole = "\x00"

// flatten returns a sum of texts as one text, and the parts that are not literals.
func flatten(e ast.Expr) (text string, holes []ast.Expr) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if s, err := strconv.Unquote(e.Value); e.Kind == token.STRING && err == nil {
			return strings.ReplaceAll(s, hole, " "), nil
		}
	case *ast.ParenExpr:
		return flatten(e.X)
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			left, leftHoles := flatten(e.X)
			right, rightHoles := flatten(e.Y)

			return left + right, append(leftHoles, rightHoles...)
		}
	}

	return hole, []ast.Expr{e}
}

// verb matches a verb of a format, or a hole.
var verb = regexp.MustCompile(`%[-+# 0]*(?:\[(\d+)\])?(?:\d+|\*)?(?:\.(?:\d+|\*))?(?:\[(\d+)\])?([a-zA-Z%])|` + hole)

// shown matches a command of collabui from its name to its end.
var shown = regexp.MustCompile("`(?:bin/)?collabui [^`\n]*|(?:^|[ :(])(?:bin/)?collabui [a-z][a-z-]*(?: [^\n`(),;:]*)?")

// inserted is the value that a verb or a hole of a text stands for.
type inserted struct {
	at   int
	what ast.Expr // nil if there is no expression
	kind string   // the letter of a verb; empty for a hole
}

func insertions(text string, holes, args []ast.Expr) []inserted {
	var out []inserted
	next := 0
	for _, m := range verb.FindAllStringSubmatchIndex(text, -1) {
		x := inserted{at: m[0]}
		if text[m[0]:m[1]] == hole {
			x.what, holes = holes[0], holes[1:]
		} else {
			x.kind = text[m[6]:m[7]]
			if x.kind == "%" {
				continue
			}
			for _, group := range []int{2, 4} {
				if m[group] >= 0 {
					next, _ = strconv.Atoi(text[m[group]:m[group+1]])
					next--
				}
			}
			next += strings.Count(text[m[0]:m[1]], "*") // widths are arguments, too
			if next < len(args) {
				x.what = args[next]
			}
			next++
		}
		out = append(out, x)
	}

	return out
}

func checkPasted(files []source) []problem {
	var problems []problem
	for _, f := range files {
		if f.ast == nil || f.isTest() || !isShipped(f.name) {
			continue
		}
		seen := map[ast.Node]bool{}
		check := func(e ast.Expr, args []ast.Expr) {
			ast.Inspect(e, func(n ast.Node) bool { seen[n] = true; return true })
			text, holes := flatten(e)
			commands := shown.FindAllStringIndex(text, -1)
			for _, x := range insertions(text, holes, args) {
				for _, c := range commands {
					if c[0] < x.at && x.at < c[1] && !isQuoted(x) {
						command := strings.ReplaceAll(text[c[0]:c[1]], hole, "…")
						problems = append(problems, problem{f.name, f.line(e.Pos()), fmt.Sprintf("%q: quote what is "+
							"inserted with fault.ShellQuote, so that the command can be pasted", command)})
					}
				}
			}
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				for i, arg := range n.Args {
					if isText(arg) {
						check(arg, n.Args[i+1:])
					}
				}
			case *ast.BinaryExpr:
				if !seen[n] && isText(n) {
					check(n, nil)
				}
			}

			return true
		})
	}

	return problems
}

// isShipped reports whether the texts of a file are shown to users.
func isShipped(name string) bool {
	for _, folder := range []string{"test/", "tools/", "deploy/"} {
		if strings.HasPrefix(name, folder) {
			return false
		}
	}

	return true
}

// isText reports whether an expression is text that is in part a literal.
func isText(e ast.Expr) bool {
	text, holes := flatten(e)

	return text != hole || len(holes) == 0
}

// names holds the names of variables whose values have no character that a shell changes: spec refuses other names of
// runs, and so do lines and schedules.
var names = map[string]bool{
	"run": true, "Run": true, "Name": true, "line": true, "digest": true, "role": true, "queue": true, "verb": true,
}

// isQuoted reports whether an inserted value is one word for a shell.
func isQuoted(x inserted) bool {
	if x.kind != "" && strings.Contains("dfgbx", x.kind) {
		return true
	}
	if call, ok := x.what.(*ast.CallExpr); ok {
		return lastName(call.Fun) == "ShellQuote"
	}

	return names[lastName(x.what)]
}
