package house

import (
	"fmt"
	"go/ast"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Limits of size. They keep what is short today from growing.
const (
	longestFile     = 350 // lines, tests included
	longestFunction = 70  // lines, outside of tests
)

// TestShapeFilesAndFunctionsStayShort also logs figures of the code. COLLABUI_TREE names another checkout to measure,
// without the limits.
func TestShapeFilesAndFunctionsStayShort(t *testing.T) {
	dir := os.Getenv("COLLABUI_TREE")
	other := dir != ""
	if !other {
		dir = root
	}
	s := measure(t, dir)
	t.Log(s)
	if !other {
		report(t, s.problems)
	}
}

// shape is the size of a checkout's Go code, test/ and deploy/local left out.
type shape struct {
	packages         map[string]bool
	files, functions []int // lines
	code, comments   int   // lines, outside of tests
	blank, wide      int
	tests            int // lines
	problems         []problem
}

func (s shape) String() string {
	all := s.code + s.comments + s.blank
	share := func(n int) string { return fmt.Sprintf("%.1f %%", 100*float64(n)/float64(max(all, 1))) }

	return fmt.Sprintf(
		"%d packages, %d lines outside of tests (%d code, %s comments, %s blank), %d over %d columns, %d of tests; "+
			"files: median %d, p90 %d, max %d; functions: median %d, p90 %d, max %d",
		len(s.packages), all, s.code, share(s.comments), share(s.blank), s.wide, mostColumns, s.tests,
		quantile(s.files, 0.5), quantile(s.files, 0.9), quantile(s.files, 1),
		quantile(s.functions, 0.5), quantile(s.functions, 0.9), quantile(s.functions, 1))
}

func quantile(x []int, p float64) int {
	if len(x) == 0 {
		return 0
	}
	slices.Sort(x)

	return x[int(p*float64(len(x)-1)+0.5)]
}

func measure(t *testing.T, dir string) shape {
	t.Helper()
	cmd := exec.Command("git", "ls-files", "*.go")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}

	s := shape{packages: map[string]bool{}}
	for _, name := range strings.Fields(string(out)) {
		if strings.HasPrefix(name, "test/") || strings.HasPrefix(name, "deploy/") || strings.HasPrefix(name, "tools/") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		src, err := parsed(name, string(text))
		if err != nil {
			t.Fatal(err)
		}
		s.add(src)
	}

	return s
}

// add measures one file.
func (s *shape) add(src source) {
	lines := strings.Split(strings.TrimRight(src.text, "\n"), "\n")
	if n := len(lines); n > longestFile {
		s.problems = append(s.problems, problem{src.name, n,
			fmt.Sprintf("the file has %d lines: split it by concept at %d", n, longestFile)})
	}
	if src.isTest() {
		s.tests += len(lines)

		return
	}

	s.packages[path.Dir(src.name)] = true
	s.files = append(s.files, len(lines))
	s.wide += len(checkWidth(src))
	for _, line := range lines {
		switch line = strings.TrimSpace(line); {
		case line == "":
			s.blank++
		case strings.HasPrefix(line, "//"):
			s.comments++
		default:
			s.code++
		}
	}
	s.addFunctions(src)
}

func (s *shape) addFunctions(src source) {
	for _, d := range src.ast.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		n := src.line(f.End()) - src.line(f.Pos()) + 1
		s.functions = append(s.functions, n)
		if n > longestFunction {
			s.problems = append(s.problems, problem{src.name, src.line(f.Pos()),
				fmt.Sprintf("the function has %d lines: split it at %d", n, longestFunction)})
		}
	}
}
