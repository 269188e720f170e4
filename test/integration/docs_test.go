//go:build integration

package integration

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/workers/catalog"
)

// fence matches a fenced block of a page.
var fence = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")

// blocksOf returns the fenced blocks of docs/add-an-environment.md in a language. It fails on a block in a language
// that no test runs.
func blocksOf(t *testing.T, language string) []string {
	t.Helper()
	raw, err := os.ReadFile("../../docs/add-an-environment.md")
	if err != nil {
		t.Fatal(err)
	}

	var out []string
	for _, m := range fence.FindAllStringSubmatch(string(raw), -1) {
		if !slices.Contains([]string{"sh", "yaml"}, m[1]) {
			t.Errorf("a block is in the language %q, want sh or yaml, which are run:\n%s", m[1], m[2])
		}
		if m[1] == language {
			out = append(out, m[2])
		}
	}
	if len(out) == 0 {
		t.Fatalf("the page has no block in %s, want one", language)
	}

	return out
}

// checkout returns a copy of the working tree that contains our programs, and in which the commands of the page may
// write.
func checkout(t *testing.T, m *machine) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	to := m.file("checkout")
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		hidden := strings.HasPrefix(d.Name(), ".") && rel != "."
		switch {
		case d.IsDir() && (hidden || rel == "bin" || d.Name() == "__pycache__"):
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		case !d.Type().IsRegular():
			return nil
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}

		return os.WriteFile(filepath.Join(to, rel), raw, 0o644)
	})
	if err == nil {
		err = os.MkdirAll(filepath.Join(to, "bin"), 0o755)
	}
	for _, name := range []string{"collabui", "collabui-local"} {
		if err == nil {
			err = os.Symlink(binary(name), filepath.Join(to, "bin", name))
		}
	}
	if err != nil {
		t.Fatal(err)
	}

	return to
}

// run runs commands of the page in one shell. It leaves out commands that the page marks.
func run(t *testing.T, dir string, env []string, commands string) string {
	t.Helper()
	script := "set -e\ntrap 'jobs -p | xargs -r kill' EXIT\n"
	for line := range strings.Lines(commands) {
		if !strings.Contains(line, "# not run by the test") {
			script += line
		}
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-c", script)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("the commands\n%s\nend with %v, want success:\n%s", script, err, out)
	}

	return string(out)
}

// replaced returns text with all replacements, each of which must apply once.
func replaced(t *testing.T, text string, with map[string]string) string {
	t.Helper()
	for was, is := range with {
		if strings.Count(text, was) != 1 {
			t.Errorf("got\n%s\nwant %q in it once", text, was)
		}
		text = strings.ReplaceAll(text, was, is)
	}

	return text
}

// TestThePageAboutEnvironmentsInPython runs the commands of the page, from nothing to a trained system, with a smaller
// run, and checks its examples.
func TestThePageAboutEnvironmentsInPython(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "")
	p := newPythonEnv(t, m)
	if out, err := p.command("-m", "pip", "download", "-q", "--no-deps", "-d", m.file("wheels"), "hatchling==1.27.0").
		CombinedOutput(); err != nil {
		t.Skipf("pip downloads nothing here: %s", out)
	}
	for _, name := range []string{"lamp.py", "lamp_app.py"} {
		out := p.must("-m", "collabui_env", "check", "../../python/examples/"+name)
		const kept = "2 of 2 tasks fulfil the contract, 2 replay identically, the expert solves 2 of the 2"
		if !strings.Contains(out, kept) {
			t.Errorf("the check of %s printed\n%s\nwant the contract kept and the tasks solved", name, out)
		}
	}

	const shrink = "sed -i 's/^name: .*/name: kill/; s/^epochs: .*/epochs: 1/; s/^slots: .*/slots: 8/; " +
		"s/chunk_steps: 10/&, max_chunks: 1, stop_low: 0.1/; " +
		"s/^evaluation: .*/evaluation: {val: 2, test_seeds: 0, test_templates: 0}/' panel/panel.yaml\n"
	commands := replaced(t, blocksOf(t, "sh")[0], map[string]string{
		"python3 -m venv":        shrink + p.python + " -m venv",
		"train panel/panel.yaml": "train panel/panel.yaml --data " + m.data,
	})
	run(t, checkout(t, m), m.env, commands)
	m.settle()

	// The page says where the digest for finetune.base is.
	var shown struct {
		Base struct{ Policy struct{ Digest string } }
	}
	out := m.must("show", "kill", "--json")
	if err := json.Unmarshal([]byte(out), &shown); err != nil || len(shown.Base.Policy.Digest) != 64 {
		t.Errorf("show has the base %+v (%v), want the digest of its policy at base.policy.digest", shown.Base, err)
	}
}

// TestThePageAboutEnvironmentsAsConfiguration checks the page's specifications as a run does before it starts.
func TestThePageAboutEnvironmentsAsConfiguration(t *testing.T) {
	t.Parallel()
	for _, text := range blocksOf(t, "yaml") {
		s, err := spec.Parse(spec.Source{Name: "page"}, []byte("name: page\n"+text), catalog.All{})
		if err != nil {
			t.Fatalf("%v, want a specification:\n%s", err, text)
		}
		suite, err := catalog.OpenEnvironment(s.Where(s.Environment), catalog.Places{})
		if err != nil {
			t.Fatal(err)
		}
		if s.Where(s.Environment).Mapping.Action == "" {
			continue // only a server can show more
		}
		if err := suite.(envadapters.Rehearsed).Rehearse(); err != nil {
			t.Errorf("%v, want every action translated:\n%s", err, text)
		}
	}
}
