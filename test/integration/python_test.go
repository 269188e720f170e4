//go:build integration

package integration

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// pythonEnv is a new environment in Python with the package that it needs.
type pythonEnv struct {
	m           *machine
	python      string
	folder, lib string
}

// newPythonEnv writes an environment as `envs new` does, and installs the package.
func newPythonEnv(t *testing.T, m *machine) *pythonEnv {
	t.Helper()
	p := &pythonEnv{m: m, python: os.Getenv("COLLABUI_OPENENV_PYTHON"), lib: m.file("lib"), folder: m.file("panelpy")}
	if p.python == "" {
		t.Skip("COLLABUI_OPENENV_PYTHON names no Python with what the package needs; scripts/venv.sh openenv makes one")
	}
	m.says([]string{"panelpy.yaml", "collabui_env serve"}, "envs", "new", "panelpy", "--python", "--dir", m.file(""))
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

// serve serves the environment at an address until the result is called or the test ends.
func (p *pythonEnv) serve(addr string) (kill func()) {
	p.m.t.Helper()
	_, port, _ := strings.Cut(addr, ":")
	cmd := p.command("-m", "collabui_env", "serve", filepath.Join(p.folder, "environment.py"), "--port", port)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		p.m.t.Fatal(err)
	}
	kill = func() { _ = cmd.Process.Signal(syscall.SIGKILL); _ = cmd.Wait() }
	p.m.t.Cleanup(kill)
	if line, err := bufio.NewReader(out).ReadString('\n'); !strings.Contains(line, addr) {
		p.m.t.Fatalf("the server says %q, %v, want its address %s", line, err, addr)
	}

	return kill
}

// TestARunGoesOnWhenTheServerOfItsEnvironmentWasKilled trains on an environment in Python, whose server is killed while
// agents play, and started again.
func TestARunGoesOnWhenTheServerOfItsEnvironmentWasKilled(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "")
	p := newPythonEnv(t, m)
	addr := freeAddr(t)
	kill := p.serve(addr)
	raw, err := os.ReadFile(filepath.Join(p.folder, "panelpy.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	m.spec = m.write("kill.yaml", replaced(t, string(raw), map[string]string{
		"name: panelpy":    "name: kill",
		"127.0.0.1:8000":   addr,
		"epochs: 2":        "epochs: 1",
		"slots: 96":        "slots: 24",
		"chunk_steps: 10}": "chunk_steps: 10, max_chunks: 2, stop_low: 0.1}",
		"{val: 60, test_seeds: 60, test_templates: 30}": "{val: 4, test_seeds: 2, test_templates: 2}",
	}))

	m.must("train", m.spec, "--detach")
	m.rollsOut("0001", 2, 3*time.Minute)
	kill()
	p.serve(addr)
	m.settle()
}
