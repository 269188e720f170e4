package mutants

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"strings"
)

// Plant returns the file that declares the mutant's symbol, below root, and its text with the bug. An error says why
// the bug cannot be planted any more, and what to do about it. Plant writes nothing.
func (m Mutant) Plant(root string) (file, text string, err error) {
	dir, name := m.split()
	short := " " + name[strings.LastIndex(name, ".")+1:]
	files, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
	if err != nil {
		return "", "", err
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			return "", "", err
		}
		if text := string(raw); strings.HasSuffix(file, "_test.go") ||
			!strings.Contains(text, short+"(") && !strings.Contains(text, short+"[") { // this saves parsing
			continue
		}
		text, ok, err := m.Change.apply(name, string(raw))
		if err != nil {
			return "", "", fmt.Errorf("the mutant %q of %s cannot be planted: %w. "+
				"Mend it in test/mutants, or remove it if the code that it broke is gone", m.Name, m.Symbol, err)
		}
		if ok {
			return file, text, nil
		}
	}

	return "", "", fmt.Errorf("the mutant %q cannot be planted: no file of %s declares %s. "+
		"Mend its Symbol in test/mutants, or remove it if the code that it broke is gone", m.Name, dir, name)
}

// split returns the folder of the symbol's package, and the symbol's name in it.
func (m Mutant) split() (dir, name string) {
	slash := strings.LastIndex(m.Symbol, "/") + 1
	last, name, _ := strings.Cut(m.Symbol[slash:], ".")

	return m.Symbol[:slash] + last, name
}

// apply returns a file's text with the change in its declaration of the name, and whether it has one.
func (c Change) apply(name, text string) (string, bool, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", text, parser.SkipObjectResolution)
	if err != nil {
		return "", false, err
	}
	d := declared(f, name)
	if d == nil {
		return "", false, nil
	}
	from, to, err := c.place(fset, d, text)
	if err != nil {
		return "", false, err
	}
	begin, end := fset.Position(d.Pos()).Offset, fset.Position(d.End()).Offset
	changed := text[begin:from] + c.now + text[to:end]
	if _, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+changed, 0); err != nil {
		return "", false, fmt.Errorf("with %q in the place of %q: %w", c.now, c.was, err)
	}

	return text[:begin] + changed + text[end:], true, nil
}

// declared returns the function or method of a name, such as "Get" or "S3.Get", nil if the file has none.
func declared(f *ast.File, name string) *ast.FuncDecl {
	for _, d := range f.Decls {
		if d, ok := d.(*ast.FuncDecl); ok && d.Body != nil && receiver(d)+d.Name.Name == name {
			return d
		}
	}

	return nil
}

// receiver returns "S3." for a method of S3 or *S3, and "" for a function.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	for t := d.Recv.List[0].Type; ; {
		switch of := t.(type) {
		case *ast.StarExpr:
			t = of.X
		case *ast.IndexExpr:
			t = of.X
		case *ast.IndexListExpr:
			t = of.X
		case *ast.Ident:
			return of.Name + "."
		default:
			return ""
		}
	}
}

// place returns the offsets of what changes in a function.
func (c Change) place(fset *token.FileSet, d *ast.FuncDecl, text string) (from, to int, err error) {
	if c.was == "" {
		from = fset.Position(d.Body.Lbrace).Offset + 1

		return from, from, nil
	}

	begin, end := fset.Position(d.Pos()).Offset, fset.Position(d.End()).Offset
	whole, places := tokens(text[begin:end], begin), ranges(fset, d)
	sought := tokens(c.was, 0)
	var count int
	for i := range len(whole) - len(sought) + 1 {
		there := whole[i : i+len(sought)]
		at := [2]int{there[0].from, there[len(there)-1].to}
		if equal(there, sought) && places[at] {
			from, to = at[0], at[1]
			count++
		}
	}
	if count != 1 {
		return 0, 0, fmt.Errorf("it contains the expression or the statements\n%s\nin %d places, want exactly one",
			c.was, count)
	}

	return from, to, nil
}

// ranges returns the offsets of every expression, statement and succession of statements.
func ranges(fset *token.FileSet, d *ast.FuncDecl) map[[2]int]bool {
	all := map[[2]int]bool{}
	add := func(first, last ast.Node) {
		all[[2]int{fset.Position(first.Pos()).Offset, fset.Position(last.End()).Offset}] = true
	}
	ast.Inspect(d, func(n ast.Node) bool {
		var list []ast.Stmt
		switch n := n.(type) {
		case ast.Expr:
			add(n, n)
		case *ast.BlockStmt:
			list = n.List
		case *ast.CaseClause:
			list = n.Body
		case *ast.CommClause:
			list = n.Body
		case ast.Stmt:
			add(n, n)
		}
		for i := range list {
			for j := i; j < len(list); j++ {
				add(list[i], list[j])
			}
		}

		return true
	})

	return all
}

// A word is a token of Go with its offsets.
type word struct {
	text     string
	from, to int
}

// tokens returns the tokens of a text that begins at an offset, without comments and without the commas and semicolons
// that formatting adds or takes away.
func tokens(text string, offset int) []word {
	var s scanner.Scanner
	fset := token.NewFileSet()
	file := fset.AddFile("", fset.Base(), len(text))
	s.Init(file, []byte(text), func(token.Position, string) {}, 0)

	var all []word
	for {
		pos, tok, lit := s.Scan()
		if n := len(all); n > 0 && (all[n-1].text == ";" || all[n-1].text == ",") && closes(tok) {
			all = all[:n-1]
		}
		if tok == token.EOF {
			return all
		}
		if tok == token.SEMICOLON || lit == "" {
			lit = tok.String()
		}
		from := offset + file.Offset(pos)
		all = append(all, word{lit, from, from + len(lit)})
	}
}

func closes(t token.Token) bool {
	return t == token.EOF || t == token.RPAREN || t == token.RBRACE || t == token.RBRACK
}

func equal(a, b []word) bool {
	for i := range a {
		if a[i].text != b[i].text {
			return false
		}
	}

	return len(b) > 0
}
