package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	asProgram  = "COLLABUI_LOCAL_TEST_AS_PROGRAM"
	testAccess = "test-access"
	testSecret = "test-secret"
	readyTime  = 30 * time.Second
	endTime    = 15 * time.Second
)

// TestMain lets the test binary stand in for the program, so that the tests
// start, kill and restart real processes.
func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}

	os.Exit(m.Run())
}

// process is one running service.
type process struct {
	*exec.Cmd
	addr   string
	stdin  io.WriteCloser
	stdout io.Reader
	stderr bytes.Buffer
}

// spawn starts the program without waiting for it.
func spawn(t *testing.T, args ...string) *process {
	t.Helper()

	p := &process{Cmd: exec.Command(os.Args[0], args...)}
	p.Env = append(os.Environ(), asProgram+"=1", accessKeyEnv+"="+testAccess, secretKeyEnv+"="+testSecret)
	p.Stderr = &p.stderr
	var err error
	if p.stdin, err = p.StdinPipe(); err != nil {
		t.Fatal(err)
	}

	if p.stdout, err = p.StdoutPipe(); err != nil {
		t.Fatal(err)
	}

	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Process.Kill(); _ = p.Wait() })

	return p
}

// launch starts a service on a free port, unless args name one, and waits until it reports that it is ready.
func launch(t *testing.T, name string, args ...string) *process {
	t.Helper()

	p := spawn(t, serviceArgs(t, name, args)...)
	late := time.AfterFunc(readyTime, func() { _ = p.Process.Kill() })
	defer late.Stop()
	line, err := bufio.NewReader(p.stdout).ReadBytes('\n')
	if err != nil {
		_ = p.Wait()
		t.Fatalf("%s ended with %v, want its ready line\n%s", name, err, p.stderr.String())
	}

	var ready struct {
		Ready, Addr string
		PID         int
	}

	if err := json.Unmarshal(line, &ready); err != nil || ready.Ready != name || ready.PID != p.Process.Pid {
		t.Fatalf("ready line %q, %v, want %s with process id %d", line, err, name, p.Process.Pid)
	}

	p.addr = ready.Addr

	return p
}

func serviceArgs(t *testing.T, name string, args []string) []string {
	t.Helper()

	all := append([]string{name, "--parent-pipe"}, args...)
	if !strings.Contains(strings.Join(args, " "), "--addr") {
		all = append(all, "--addr", freeAddress(t))
	}

	return all
}

func freeAddress(t *testing.T) string {
	t.Helper()

	ports, err := freePorts(1)
	if err != nil {
		t.Fatal(err)
	}

	return fmt.Sprintf("%s:%d", loopback, ports[0])
}

// kill ends the process abruptly, as a power failure would.
func (p *process) kill() {
	_ = p.Process.Kill()
	_ = p.Wait()
}

// exit waits for the end and returns the exit code.
func (p *process) exit(t *testing.T) int {
	t.Helper()

	late := time.AfterFunc(endTime, func() {
		t.Errorf("the process still runs after %v, want its end", endTime)
		_ = p.Process.Kill()
	})
	defer late.Stop()
	_ = p.Wait()

	return p.ProcessState.ExitCode()
}

func TestEndsCleanlyWhenItsSupervisorIsGoneOrAsks(t *testing.T) {
	for _, name := range []string{"temporal", "s3", "redis"} {
		for how, end := range map[string]func(*process) error{
			"EOF":     func(p *process) error { return p.stdin.Close() },
			"SIGTERM": func(p *process) error { return p.Process.Signal(syscall.SIGTERM) },
		} {
			t.Run(name+"/"+how, func(t *testing.T) {
				t.Parallel()

				p := launch(t, name, dirArgs(t, name)...)
				if err := end(p); err != nil {
					t.Fatal(err)
				}
				if code := p.exit(t); code != 0 {
					t.Fatalf("exit code %d, want 0\n%s", code, p.stderr.String())
				}
			})
		}
	}
}

func dirArgs(t *testing.T, name string) []string {
	t.Helper()

	if name == "redis" {
		return nil
	}

	return []string{"--dir", t.TempDir()}
}

func TestRefusesWithOneLineAndItsExitCode(t *testing.T) {
	t.Parallel()

	dir := t.TempDir()
	s3 := launch(t, "s3", "--dir", dir)
	for name, c := range map[string]struct {
		args []string
		code int
		says string
	}{
		"locked folder": {
			args: []string{"s3", "--dir", dir, "--addr", freeAddress(t)},
			code: exitLocked,
			says: "another s3 runs on this folder",
		},
		"port in use": {
			args: []string{"redis", "--addr", s3.addr},
			code: exitPort,
			says: "choose another address",
		},
		"folder is file": {
			args: []string{"s3", "--dir", os.Args[0], "--addr", freeAddress(t)},
			code: exitData,
			says: "cannot create the data folder",
		},
		"no service": {
			code: exitUsage,
			says: "no service named",
		},
		"unknown service": {
			args: []string{"kafka"},
			code: exitUsage,
			says: "unknown service",
		},
		"no folder": {
			args: []string{"temporal", "--addr", freeAddress(t)},
			code: exitUsage,
			says: "--dir is missing",
		},
		"host name": {
			args: []string{"redis", "--addr", "localhost:1"},
			code: exitUsage,
			says: "is not an address",
		},
		"bad bucket": {
			args: []string{"s3", "--dir", dir, "--addr", freeAddress(t), "--bucket", "A_b"},
			code: exitUsage,
			says: "is not a bucket name",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			p := spawn(t, c.args...)
			code, output := p.exit(t), p.stderr.String()
			if code != c.code || strings.Count(output, "\n") != 1 || !strings.Contains(output, c.says) {
				t.Fatalf("exit code %d, want %d; said %q, want %q in one line", code, c.code, output, c.says)
			}
		})
	}
}
