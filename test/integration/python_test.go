//go:build integration

package integration

import (
	"os"
	"os/exec"
	"testing"
)

// pythonEnv is a Python with the package that environments in Python need.
type pythonEnv struct {
	m      *machine
	python string
	lib    string
}

// newPythonEnv installs the package.
func newPythonEnv(t *testing.T, m *machine) *pythonEnv {
	t.Helper()
	p := &pythonEnv{m: m, python: os.Getenv("COLLABUI_OPENENV_PYTHON"), lib: m.file("lib")}
	if p.python == "" {
		t.Skip("COLLABUI_OPENENV_PYTHON names no Python with what the package needs; scripts/venv.sh openenv makes one")
	}
	p.must("-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--target", p.lib, "../../python")

	return p
}

func (p *pythonEnv) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(p.m.t.Context(), p.python, args...)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+p.lib, "COLLABUI="+binary("collabui"))

	return cmd
}

func (p *pythonEnv) must(args ...string) string {
	p.m.t.Helper()
	out, err := p.command(args...).CombinedOutput()
	if err != nil {
		p.m.t.Fatalf("python %v: %v, want success\n%s", args, err, out)
	}

	return string(out)
}
