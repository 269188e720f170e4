package scaffold

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/collabui/collabui/fault"
)

// build runs commands of the go tool, or built tests, in the checkout.
func build(t *testing.T, root string, args ...string) string {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v = %v, want success:\n%s", args, err, out)
	}

	return string(out)
}

// An overlay shows the new adapter to the go tool as part of the checkout, which stays as it is.
func TestANewAdapterCompilesAndMeetsTheContract(t *testing.T) {
	root, err := Root(".")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	written, err := New(dir, "panelxyz", []string{"webtasks"})
	if err != nil {
		t.Fatal(err)
	}
	if len(written) != len(adapter) {
		t.Errorf("New wrote %v, want %d files", written, len(adapter))
	}

	replace := map[string]string{}
	for _, w := range written {
		rel, err := filepath.Rel(dir, w)
		if err != nil {
			t.Fatal(err)
		}
		replace[filepath.Join(root, rel)] = w
		if strings.HasSuffix(w, ".go") {
			if out := build(t, root, "gofmt", "-d", w); out != "" {
				t.Errorf("%s is not formatted; gofmt wants:\n%s", rel, out)
			}
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	file, tests := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "acceptance")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		t.Fatal(err)
	}

	build(t, root, "go", "build", "-overlay", file, "./workers/catalog")
	build(t, root, "go", "test", "-c", "-vet=off", "-overlay", file, "-o", tests, "./envadapters/panelxyz")
	const passed = "--- PASS: TestAcceptance"
	if out := build(t, root, tests, "-test.v"); !strings.Contains(out, passed) {
		t.Errorf("the acceptance test printed no %q, which is wanted:\n%s", passed, out)
	}
}

func TestNothingIsOverwritten(t *testing.T) {
	dir := t.TempDir()
	if _, err := New(dir, "panelxyz", nil); err != nil {
		t.Fatal(err)
	}

	_, err := New(dir, "panelxyz", nil)
	if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "exists") {
		t.Errorf("New for the second time = %v, want an invalid fault about a file that exists", err)
	}
}

func TestNamesAreChecked(t *testing.T) {
	names := []string{
		"", "a", "Panel", "my-env", "../up", "func", "webtasks", "abctest", strings.Repeat("x", 21),
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if _, err := New(dir, name, []string{"webtasks"}); fault.KindOf(err) != fault.Invalid {
				t.Errorf("New(%q) = %v, want an invalid fault", name, err)
			}

			entries, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			if len(entries) > 0 {
				t.Errorf("New(%q) wrote %v, want nothing", name, entries)
			}
		})
	}
}

func TestAFolderOutsideOfACheckoutIsRefused(t *testing.T) {
	if root, err := Root(t.TempDir()); fault.KindOf(err) != fault.Invalid {
		t.Errorf("Root = %q, %v, want an invalid fault", root, err)
	}
}

func TestANewEnvironmentInPythonHasAPortOfItsOwn(t *testing.T) {
	dir := t.TempDir()
	seen := map[string]bool{}
	for _, name := range []string{"one", "two", "three"} {
		written, err := NewPython(dir, name, nil)
		if err != nil {
			t.Fatal(err)
		}
		code := read(t, written[0])
		m := regexp.MustCompile(`(?m)^    port = (2\d{4}) `).FindStringSubmatch(code)
		if m == nil {
			t.Fatalf("the environment has no port from 20000 to 29999, want one:\n%s", code)
		}
		seen[m[1]] = true
		if yaml := read(t, written[2]); !strings.Contains(yaml, `servers: ["ws://127.0.0.1:`+m[1]+`/ws"]`) {
			t.Errorf("the environment is served at port %s, want it in the specification:\n%s", m[1], yaml)
		}
	}
	if len(seen) == 1 {
		t.Errorf("three environments have the port of %v, want other ones", seen)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}

	return string(raw)
}

// TestThePageAboutEnvironmentsInPython of test/integration goes the rest of the way, to a trained system.
func TestANewEnvironmentInPythonPassesItsTestAndHasTypes(t *testing.T) {
	python := os.Getenv("COLLABUI_OPENENV_PYTHON")
	if python == "" || os.Getenv("COLLABUI_WHEEL_PYTHON") == "" {
		t.Skip("COLLABUI_OPENENV_PYTHON and COLLABUI_WHEEL_PYTHON name no Pythons with what the package needs and " +
			"what builds it; scripts/venv.sh openenv and scripts/venv.sh wheel make them")
	}
	dir := t.TempDir()
	written, err := NewPython(dir, "panelxyz", []string{"webtasks"})
	if err != nil {
		t.Fatal(err)
	}
	if len(written) != len(served) {
		t.Errorf("NewPython wrote %v, want %d files", written, len(served))
	}

	lib := installed(t, python)
	t.Setenv("PYTHONPATH", lib)
	t.Setenv("MYPYPATH", lib)
	folder := filepath.Join(dir, "panelxyz")
	build(t, folder, python, "-m", "unittest", "-q")
	build(t, folder, python, "-m", "mypy", "--strict", "--cache-dir", "/dev/null", ".")
	for name, c := range map[string]struct {
		code  string
		fails bool
	}{
		"another class":            {code: another},
		"an expert that is wrong":  {strings.Replace(another, "Click(0)", "Wait()", 1), true},
		"a goal reached at once":   {strings.Replace(another, "self.on = False", "self.on = True", 1), true},
		"an environment of no use": {strings.Replace(another, "self.on and done", "False", 1), true},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(written[0], []byte(c.code), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(python, "-m", "unittest", "-q")
			cmd.Dir = folder
			out, err := cmd.CombinedOutput()
			if (err != nil) != c.fails || !strings.Contains(string(out), "Ran 2 tests") {
				t.Errorf("the generated test ends with %v after the edit, want a failure: %v\n%s", err, c.fails, out)
			}
		})
	}
}

// another is what an author may make of the generated environment.
const another = `
from collabui_env import Action, Element, Environment, Splits, Step, Task, Template, mobile, standard_splits


class Bell(Environment):
    def splits(self) -> Splits:
        return standard_splits([Template("ring", max_steps=3)], [Template("ring-again", max_steps=3)])

    def reset(self, task: Task) -> Step:
        self.on = False
        return Step([Element(0, "button", text="Bell")], goal="Ring the bell")

    def step(self, action: Action) -> Step:
        self.on = self.on or action == mobile.Click(0)
        done = isinstance(action, mobile.Status)
        return Step([Element(0, "button", text="Bell")], done=done, success=self.on and done)

    def expert(self) -> Action:
        return mobile.Status("complete") if self.on else mobile.Click(0)
`

// installed installs the wheel of the Python package without a network, and returns the folder.
func installed(t *testing.T, python string) string {
	t.Helper()
	root, err := Root(".")
	if err != nil {
		t.Fatal(err)
	}

	var wheels []string
	for range 2 {
		wheel := build(t, root, "bash", "-c", `scripts/wheel.sh v1.2.3-rc.4 "$0" 2>/dev/null`, t.TempDir())
		wheels = append(wheels, strings.TrimSpace(wheel))
	}
	if name := filepath.Base(wheels[0]); name != "collabui_env-1.2.3rc4-py3-none-any.whl" {
		t.Errorf("the wheel is %s, want the version of the release in its name", name)
	}
	build(t, root, "cmp", wheels[0], wheels[1])
	lib := t.TempDir()
	build(t, root, python, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--target", lib, wheels[0])

	return lib
}
