//go:build integration

package integration

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/collabui/collabui/internal/local/supervisor"
)

var attachedRuns = flag.Int("runs", 1, "number of runs of TestAnAttachedRunEndsWhateverIsKilled")

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

// ends waits for the end of the command, and checks its exit code, that it printed a text, and that no library printed
// anything.
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

// TestAttachedCommandsNoticeThatTheServicesAreGone kills the supervisor, and with it all services. train starts them
// again, until a person stops them.
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

	m.rollsOut("0002", 10, 3*time.Minute) // train has started the services again
	if st, alive := supervisor.Read(m.data); !alive || st.Tabs != 2 {
		t.Errorf("the services run: %v, with %d tabs; want them as they were, with 2", alive, st.Tabs)
	}
	m.must("down")
	train.ends(10*time.Second, 3, "the services were stopped")
	if out := train.printed(); !strings.Contains(out, "were killed: they are started again") {
		t.Errorf("train printed\n%s\nwant that the services were killed, and started again", out)
	}
	if _, alive := supervisor.Read(m.data); alive {
		t.Error("the services run again, want them stopped")
	}

	m.must("train", m.spec)
	same(t, m.finish())
}

// TestAnAttachedRunEndsWhateverIsKilled kills each process once while train is attached, in random order.
func TestAnAttachedRunEndsWhateverIsKilled(t *testing.T) {
	t.Parallel()
	for number := range *attachedRuns {
		t.Run(fmt.Sprint(number), func(t *testing.T) {
			random := rand.New(rand.NewPCG(uint64(number), 0))
			m := newMachine(t, specification)
			train := m.attach("train", m.spec)
			m.eventually("the services run", time.Minute, func() bool {
				st, alive := supervisor.Read(m.data)

				return alive && st.Ready
			})

			victims := []string{"supervisor", "worker", "temporal", "s3", "redis", "viewer"}
			random.Shuffle(len(victims), func(i, j int) { victims[i], victims[j] = victims[j], victims[i] })
			for _, name := range victims {
				time.Sleep(time.Duration(random.IntN(6000)) * time.Millisecond)
				m.killOne(name)
			}
			train.ends(8*time.Minute, 0, "")
			t.Logf("killed %v", victims)
			same(t, m.finish())
		})
	}
}

// killOne kills a process as soon as it runs.
func (m *machine) killOne(name string) {
	m.t.Helper()
	pid := 0
	m.eventually(name+" runs", 3*time.Minute, func() bool {
		st, alive := supervisor.Read(m.data)
		pid = st.Services[supervisor.Name(name)].PID
		if name == "supervisor" {
			pid = st.PID
		}

		return alive && pid > 1 && syscall.Kill(pid, 0) == nil
	})
	m.kill(name, pid)
}
