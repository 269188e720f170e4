package supervisor

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/process/proc"
)

// running is a started process.
type running struct {
	cmd   *exec.Cmd
	stdin io.Closer
	ended chan struct{}
}

// launch starts a unit, waits until it is healthy, and from then on keeps it running until ctx ends.
func (s *Supervisor) launch(ctx context.Context, u unit) error {
	var r *running
	var err error
	for try := range launchTries {
		if r, err = s.spawn(u); err != nil {
			return err
		}
		if err = s.await(ctx, u, r); !errors.Is(err, errGone) {
			break
		}
		time.Sleep(time.Duration(1+try) * 300 * time.Millisecond) // a process of a killed supervisor may still hold its data for a moment
	}
	if err != nil {
		r.stop()
		return fault.New(fault.Transient, "%s did not start: %w; its log: %s%s", u.name, err, LogPath(s.o.Data, u.name), tail(LogPath(s.o.Data, u.name)))
	}
	go s.keep(ctx, u, r)
	return nil
}

// launchTries is how often a process that ends at once is started before the start fails.
const launchTries = 4

// startLimit bounds a start; the first one on a slow disk makes databases.
const startLimit = 60 * time.Second

func (s *Supervisor) await(ctx context.Context, u unit, r *running) error {
	err := errGone
	for end := time.Now().Add(startLimit); time.Now().Before(end); {
		select {
		case <-r.ended:
			return errGone
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(30 * time.Millisecond):
		}
		if err = u.health(ctx); err == nil {
			select {
			case <-r.ended: // somebody else answered on its port
				return errGone
			case <-time.After(50 * time.Millisecond):
				return nil
			}
		}
	}
	return err
}

func (s *Supervisor) spawn(u unit) (*running, error) {
	log, err := os.OpenFile(LogPath(s.o.Data, u.name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fault.New(fault.Invalid, "log of %s: %w", u.name, err)
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(u.path, u.args...)
	cmd.Env = append(append(os.Environ(), s.ends.Environ()...), u.env...)
	cmd.Stdout, cmd.Stderr = log, log
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fault.As(fault.Fatal, err)
	}
	if err := proc.Start(cmd); err != nil {
		return nil, fault.New(fault.Invalid, "start %s: %w", u.name, err)
	}
	r := &running{cmd, stdin, make(chan struct{})}
	go func() { _ = cmd.Wait(); close(r.ended) }()
	s.mu.Lock()
	old := s.state.Services[u.name]
	n := old.Restarts
	if !old.Started.IsZero() {
		n++
	}
	s.state.Services[u.name] = Service{PID: cmd.Process.Pid, Addr: u.addr, Started: time.Now(), Restarts: n, Problem: old.Problem}
	s.mu.Unlock()
	s.save()
	return r, nil
}

// keep restarts a unit whenever it ends or stops answering, with growing pauses, until ctx ends.
func (s *Supervisor) keep(ctx context.Context, u unit, r *running) {
	pause := 100 * time.Millisecond
	for {
		began := time.Now()
		s.watch(ctx, u, r)
		if ctx.Err() != nil {
			r.stop()
			return
		}
		r.stop()
		if time.Since(began) > time.Minute {
			pause = 100 * time.Millisecond
		}
		why := "it does not answer"
		if r.cmd.ProcessState != nil && !r.cmd.ProcessState.Success() {
			why = r.cmd.ProcessState.String() + lastLine(LogPath(s.o.Data, u.name))
		}
		s.problem(u.name, why)
		s.o.Log("%s ended (%s); starting it again in %v", u.name, why, pause)
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		pause = min(2*pause, 10*time.Second)
		next, err := s.spawn(u)
		if err != nil {
			s.o.Log("%v", err)
			continue
		}
		r = next
		if err := s.await(ctx, u, r); err != nil {
			s.o.Log("%s: %v", u.name, err)
			continue
		}
		s.problem(u.name, "")
	}
}

// problem notes why a service is not running, for people who look; empty: it runs.
func (s *Supervisor) problem(name, why string) {
	s.mu.Lock()
	x := s.state.Services[name]
	x.Problem = why
	s.state.Services[name] = x
	s.mu.Unlock()
	s.save()
}

// lastLine is the end of a log, for a person who asks why a service ended.
func lastLine(path string) string {
	t := tail(path)
	at := strings.LastIndexByte(t, '\n')
	if at < 0 {
		return ""
	}
	const most = 300
	line := strings.TrimSpace(t[at+1:])
	return ": " + line[:min(len(line), most)]
}

// watch returns when the process ended, failed three health checks in a row, or ctx is done.
func (s *Supervisor) watch(ctx context.Context, u unit, r *running) {
	bad := 0
	for {
		select {
		case <-r.ended:
			return
		case <-ctx.Done():
			return
		case <-time.After(2 * time.Second):
		}
		if err := u.health(ctx); err != nil && ctx.Err() == nil {
			if bad++; bad == 3 {
				s.o.Log("%s does not answer: %v", u.name, err)
				return
			}
		} else {
			bad = 0
		}
	}
}

// stop ends a process: by its pipe first, then by force.
func (r *running) stop() {
	_ = r.stdin.Close()
	select {
	case <-r.ended:
	case <-time.After(8 * time.Second):
		proc.KillGroup(r.cmd)
		<-r.ended
	}
}

// Wait blocks until ctx ends and all processes are gone: worker and policy server first, then the services.
func (s *Supervisor) Wait(ctx context.Context) {
	<-ctx.Done()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(30 * time.Millisecond) {
		if !s.anyAlive() {
			break
		}
	}
	_ = os.Remove(statePath(s.o.Data))
	_ = s.lock.Close()
}

func (s *Supervisor) anyAlive() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.state.Services {
		if x.PID > 0 {
			if p, err := os.FindProcess(x.PID); err == nil && p.Signal(syscall.Signal(0)) == nil {
				return true
			}
		}
	}
	return false
}

// tail is the end of a log, for error messages.
func tail(path string) string {
	b, err := os.ReadFile(path)
	if err != nil || len(b) == 0 {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return "\n  " + strings.Join(lines[max(0, len(lines)-3):], "\n  ")
}
