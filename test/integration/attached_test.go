//go:build integration

package integration

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/collabui/collabui/internal/process/supervisor"
)

// attached is a command of collabui that runs beside the test.
type attached struct {
	m     *machine
	line  string
	ended chan struct{}

	mu  sync.Mutex
	out bytes.Buffer
	err error
}

func (a *attached) Write(part []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()

	return a.out.Write(part)
}

func (a *attached) printed() string {
	a.mu.Lock()
	defer a.mu.Unlock()

	return a.out.String()
}

// attach starts a command.
func (m *machine) attach(args ...string) *attached {
	m.t.Helper()
	a := &attached{m: m, line: strings.Join(args, " "), ended: make(chan struct{})}
	cmd := exec.Command(binary("collabui"), append(args, "--data", m.data)...)
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), m.env...), a, a
	if err := cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-a.ended
	})
	go func() {
		a.err = cmd.Wait()
		close(a.ended)
	}()

	return a
}

// ends waits for the end of the command and checks its exit code, that it printed a text, and that no library did.
func (a *attached) ends(within time.Duration, code int, text string) {
	a.m.t.Helper()
	select {
	case <-a.ended:
	case <-time.After(within):
		a.m.t.Fatalf("collabui %s runs after %v, want its end\n%s", a.line, within, a.printed())
	}
	got := 0
	var exit *exec.ExitError
	if errors.As(a.err, &exit) {
		got = exit.ExitCode()
	}
	out := a.printed()
	if got != code || !strings.Contains(out, text) {
		a.m.t.Errorf("collabui %s ended with %d, want %d and %q\n%s", a.line, got, code, text, out)
	}
	for line := range strings.Lines(out) {
		if strings.Contains(line, "redis: ") || strings.Contains(line, ".go:") {
			a.m.t.Errorf("collabui %s printed a line of a library: %q, want none", a.line, line)
		}
	}
}

// TestAttachedCommandsNoticeThatTheServicesAreGone kills the supervisor, and with it all services. Then a person stops
// them.
func TestAttachedCommandsNoticeThatTheServicesAreGone(t *testing.T) {
	t.Parallel()
	m := newMachine(t, specification)
	m.must("up", "--tabs", "2")
	train := m.attach("train", m.spec)
	m.rollsOut("0001", 10, 2*time.Minute)
	watch := m.attach("watch", "kill")
	m.eventually("watch shows the run", 30*time.Second, func() bool { return watch.printed() != "" })
	m.kill("supervisor", m.supervisorPID())
	watch.ends(10*time.Second, 3, " up --data "+m.data)
	train.ends(10*time.Second, 3, " up --data "+m.data)

	again := m.attach("train", m.spec)
	m.rollsOut("0002", 10, 3*time.Minute)
	m.must("down")
	again.ends(10*time.Second, 3, "the services have ended")
	if _, alive := supervisor.Read(m.data); alive {
		t.Error("the services run again, want them stopped")
	}

	m.must("train", m.spec)
	same(t, m.finish())
}
