package openenv

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/acceptance"
)

// TestAGymnasiumEnvironmentIsWrappedInPython plays python/examples/browsergym_env.py.
func TestAGymnasiumEnvironmentIsWrappedInPython(t *testing.T) {
	s, err := New(envadapters.Options{Servers: []string{serveBrowserGym(t)}})
	if err != nil {
		t.Fatal(err)
	}
	task := domain.Task{Template: "form", Split: domain.SplitTrain, Seed: 1, MaxSteps: 3}
	r, err := acceptance.Task(t.Context(), s, task)
	if err != nil || len(r.Problems) > 0 || r.Elements < 3 {
		t.Errorf("got %+v, %v, want the contract kept and the elements of a form", r, err)
	}

	playForm(t, opened(t, s))
}

// serveBrowserGym serves the example and returns its address.
func serveBrowserGym(t *testing.T) string {
	t.Helper()
	python := os.Getenv("COLLABUI_BROWSERGYM_PYTHON")
	if python == "" {
		t.Skip("COLLABUI_BROWSERGYM_PYTHON names no Python with browsergym-core; scripts/venv.sh browsergym makes one")
	}

	cmd := exec.CommandContext(t.Context(), python, "form.py")
	cmd.Dir, cmd.Stderr = "testdata", os.Stderr
	cmd.Env = append(os.Environ(), "PYTHONPATH=../../../python")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Signal(os.Interrupt); _ = cmd.Wait() })

	line, _ := bufio.NewReader(out).ReadString('\n')
	_, rest, _ := strings.Cut(line, " at ")
	address, _, found := strings.Cut(rest, " ")
	if !found {
		t.Fatalf("the server says %q, want its address", line)
	}

	return address
}

// playForm solves a task of BrowserGym: it types a text with quotes and a backslash, and submits it.
func playForm(t *testing.T, env *environment) {
	t.Helper()
	task := domain.Task{Template: "sent", Split: domain.SplitTrain, Seed: 1, MaxSteps: 4}
	tr, err := env.Reset(t.Context(), task)
	if err != nil {
		t.Fatal(err)
	}

	for _, x := range []struct {
		role   string
		action domain.Action
	}{
		{"textbox", domain.Action{Type: domain.ActionTypeString, Text: `Ada "L'ovelace\`}},
		{"button", domain.Action{Type: domain.ActionClick}},
	} {
		x.action.Family = domain.FamilyWeb
		for _, e := range tr.Observation.Elements {
			if e.Role == x.role {
				x.action.Element = e.ID
			}
		}
		if tr, err = env.Step(t.Context(), x.action); err != nil || tr.Invalid != "" {
			t.Fatalf("%s: %+v, %v, want it executed", x.action.JSON(), tr, err)
		}
	}
	if sc, err := env.Score(t.Context()); err != nil || !sc.Success || !tr.Terminated {
		t.Errorf("got score %+v, the end %v, %v, want a success at the end", sc, tr.Terminated, err)
	}
}
