//go:build integration

package integration

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestWhatHangsIsNamedAndReplaced freezes every process of a data folder but the supervisor. A frozen process still has
// its port, and the kernel accepts connections for it.
func TestWhatHangsIsNamedAndReplaced(t *testing.T) {
	t.Parallel()
	m := newMachine(t, specification)
	m.must("train", m.spec, "--detach")
	m.rollsOut("0001", 20, 2*time.Minute)

	for _, name := range []string{"temporal", "s3", "redis", "policy", "worker"} {
		was := m.service(name)
		if err := syscall.Kill(was.PID, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		m.eventually(name+" is frozen", 10*time.Second, func() bool {
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", was.PID))

			return err == nil && bytes.Contains(stat, []byte(") T "))
		})
		frozen := time.Now()
		m.names(name)
		m.eventually(name+" is replaced", 40*time.Second, func() bool {
			now := m.service(name)

			return now.Restarts > was.Restarts && now.Problem == ""
		})
		t.Logf("%s answers again after %v", name, time.Since(frozen).Round(100*time.Millisecond))
		m.poll("all services are well", 30*time.Second, 500*time.Millisecond, func() bool {
			_, err := m.try("doctor")

			return err == nil
		})
	}
	same(t, m.finish())
	environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", m.service("worker").PID))
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.LastIndex(environment, []byte("\x00TMPDIR="))
	folder, _, _ := bytes.Cut(environment[at+len("\x00TMPDIR="):], []byte{0})
	left, err := filepath.Glob(filepath.Join(string(folder), "*"))
	if err != nil || len(left) > 1 {
		t.Errorf("temporary folders: %v, %v; want at most that of the browser which runs", left, err)
	}
}

// names checks that doctor and show report that a service does not answer, without waiting for it. Starting the
// programs is part of the time, on a machine that trains beside other tests.
func (m *machine) names(service string) {
	m.t.Helper()
	for _, args := range [][]string{{"doctor"}, {"show", "kill"}} {
		began := time.Now()
		out, _ := m.try(args...)
		if took := time.Since(began); took > 30*time.Second {
			m.t.Errorf("collabui %s took %v while %s hung, want at most 30 s", args[0], took, service)
		}
		var failed []string
		for line := range strings.Lines(out) {
			if strings.HasPrefix(line, "FAIL") {
				failed = append(failed, strings.Fields(line)[1])
			}
		}
		if len(failed) == 0 || failed[0] != service {
			m.t.Errorf("collabui %s while %s hung says that %v fail, want %[2]s first\n%[4]s",
				args[0], service, failed, out)
		}
	}
}
