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

// Plant returns the file, below root, that declares the mutant's symbol, and its text with the bug. An error explains
// why the bug can no longer be planted, and gives advice. Plant writes nothing.
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

// apply returns a file's text with the change to its declaration of the name, and reports whether the file has one. The
// function's body loses its comments and line breaks.
func (c Change) apply(name, text string) (string, bool, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", text, parser.SkipObjectResolution)
	if err != nil {
		return "", false, err
	}
	funcDecl := declared(file, name)
	if funcDecl == nil {
		return "", false, nil
	}
	begin := fset.Position(funcDecl.Body.Lbrace).Offset + 1
	end := fset.Position(funcDecl.Body.Rbrace).Offset
	body := tokens(text[begin:end])
	changed := c.now + body
	if c.was != "" {
		was := tokens(c.was)
		if n := strings.Count(body, was); n != 1 {
			return "", false, fmt.Errorf("it contains the expression or the statements\n%s\nin %d places, "+
				"want exactly one", c.was, n)
		}
		changed = strings.Replace(body, was, " "+c.now+" ", 1)
	}
	changed = text[:begin] + changed + text[end:]
	if _, err := parser.ParseFile(token.NewFileSet(), "", changed, parser.SkipObjectResolution); err != nil {
		return "", false, fmt.Errorf("with %q in the place of %q: %w", c.now, c.was, err)
	}

	return changed, true, nil
}

// declared returns the function or method of a name, such as "Get" or "S3.Get", or nil if the file does not declare it.
func declared(file *ast.File, name string) *ast.FuncDecl {
	for _, decl := range file.Decls {
		if d, ok := decl.(*ast.FuncDecl); ok && d.Body != nil && receiver(d)+d.Name.Name == name {
			return d
		}
	}

	return nil
}

// receiver returns "S3." for a method of S3 or *S3, and "" for a function.
func receiver(funcDecl *ast.FuncDecl) string {
	if funcDecl.Recv == nil {
		return ""
	}
	for expr := funcDecl.Recv.List[0].Type; ; {
		switch of := expr.(type) {
		case *ast.StarExpr:
			expr = of.X
		case *ast.IndexExpr:
			expr = of.X
		case *ast.IndexListExpr:
			expr = of.X
		case *ast.Ident:
			return of.Name + "."
		default:
			return ""
		}
	}
}

// tokens returns the tokens of a text, separated by blanks, without comments and without the commas and semicolons that
// formatting adds or removes.
func tokens(text string) string {
	var s scanner.Scanner
	fset := token.NewFileSet()
	s.Init(fset.AddFile("", fset.Base(), len(text)), []byte(text), func(token.Position, string) {}, 0)

	var all []string
	for {
		_, tok, lit := s.Scan()
		if n := len(all); n > 0 && (all[n-1] == ";" || all[n-1] == ",") && closes(tok) {
			all = all[:n-1]
		}
		if tok == token.EOF {
			return " " + strings.Join(all, " ") + " "
		}
		if tok == token.SEMICOLON || lit == "" {
			lit = tok.String()
		}
		all = append(all, lit)
	}
}

func closes(t token.Token) bool {
	return t == token.EOF || t == token.RPAREN || t == token.RBRACE || t == token.RBRACK
}
