package scaffold

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/collabui/collabui/fault"
)

// TestANewAdapterCompilesAndHoldsTheContract writes an adapter beside the real ones, by an overlay, so that the checkout stays as it is.
func TestANewAdapterCompilesAndHoldsTheContract(t *testing.T) {
	root, err := Root(".")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	written, err := New(dir, "panelxyz", []string{"webtasks"})
	if err != nil || len(written) != len(targets) {
		t.Fatal(written, err)
	}
	var overlay []string
	for _, w := range written {
		rel, _ := filepath.Rel(dir, w)
		overlay = append(overlay, `"`+filepath.Join(root, rel)+`":"`+w+`"`)
		if strings.HasSuffix(w, ".go") {
			if out, err := exec.Command("gofmt", "-l", w).CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("not formatted: %s %v", out, err)
			}
		}
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, []byte(`{"Replace":{`+strings.Join(overlay, ",")+`}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "acceptance")
	for _, args := range [][]string{{"go", "build", "-overlay", file, "./envadapters/registry"}, {"go", "test", "-c", "-vet=off", "-overlay", file, "-o", binary, "./envadapters/panelxyz"}, {binary, "-test.v"}} {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil || args[0] == binary && !strings.Contains(string(out), "--- PASS: TestAcceptance") {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	if _, err := New(dir, "panelxyz", nil); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "in the way") {
		t.Error(err)
	}
}

func TestNamesAreChecked(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"", "a", "Panel", "my-env", "../up", "func", "webtasks", "abctest", strings.Repeat("x", 21)} {
		if _, err := New(dir, name, []string{"webtasks"}); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%q: %v", name, err)
		}
	}
	if es, _ := os.ReadDir(dir); len(es) > 0 {
		t.Error(es)
	}
	if _, err := Root(dir); fault.KindOf(err) != fault.Invalid {
		t.Error(err)
	}
}
