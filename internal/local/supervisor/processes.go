package supervisor

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"time"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/local/proc"
)

// errEnded means that a process ended before it was healthy.
var errEnded = errors.New("the process ended")

// running is a started process.
type running struct {
	cmd   *exec.Cmd
	stdin io.Closer
	ended chan struct{}
}

// launchTries is how often a process that ends immediately is started before the start fails. A process of a killed
// supervisor may still hold its data for a moment.
const launchTries = 4

// launch starts a unit, waits until it is healthy, and then keeps it running until ctx ends.
func (s *Supervisor) launch(ctx context.Context, u unit) error {
	var r *running
	var err error
	for try := range launchTries {
		if r, err = s.spawn(u); err != nil {
			return err
		}
		err = s.await(ctx, u, r)
		if !errors.Is(err, errEnded) {
			break
		}
		time.Sleep(time.Duration(1+try) * 300 * time.Millisecond)
	}
	if err != nil {
		r.stop()
		log := LogPath(s.o.Data, u.name)

		return fault.New(fault.Transient, "%s did not start: %w; its log: %s%s", u.name, err, log, tail(log))
	}
	go s.keep(ctx, u, r)

	return nil
}

// startLimit bounds a start. The first start on a slow disk creates databases.
const startLimit = 60 * time.Second

// await waits until a unit is healthy.
func (s *Supervisor) await(ctx context.Context, u unit, r *running) error {
	err := errEnded
	for end := time.Now().Add(startLimit); time.Now().Before(end); {
		select {
		case <-r.ended:
			return errEnded
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(30 * time.Millisecond):
		}
		err = u.health(ctx)
		if err != nil {
			continue
		}

		select {
		case <-r.ended: // another process answered on its port
			return errEnded
		case <-time.After(50 * time.Millisecond):
			return nil
		}
	}

	return err
}

// collectLess makes the garbage collectors of the processes run when heaps have grown fourfold instead of twofold,
// because all processes share a few cores. GOGC in the environment of this process has precedence.
const collectLess = "GOGC=300"

// needed matches the variables that the services of this machine need. They get no keys of models, of other stores or
// of policy servers.
var needed = regexp.MustCompile(`^(PATH|HOME|TMPDIR|LANG|LC_[A-Z]+|TZ|GO[A-Z0-9]+)=`)

// environ returns the environment of a unit. Processes of this program read addresses and keys from it.
func (s *Supervisor) environ(u unit) []string {
	own := os.Environ()
	if u.stage == services {
		own = slices.DeleteFunc(own, func(variable string) bool { return !needed.MatchString(variable) })

		return slices.Concat([]string{collectLess}, own, u.env)
	}

	return slices.Concat([]string{collectLess}, own, s.ends.Environ(), u.env)
}

// spawn starts a process of a unit.
func (s *Supervisor) spawn(u unit) (*running, error) {
	log, err := os.OpenFile(LogPath(s.o.Data, u.name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fault.New(fault.Invalid, "log of %s: %w", u.name, err)
	}
	defer func() { _ = log.Close() }()

	cmd := exec.Command(u.path, u.args...)
	cmd.Env = s.environ(u)
	if u.tmp != "" { // a worker that is killed cannot remove the files of its browsers
		// Mkdir fails if another account was quicker; that account could otherwise change the contents.
		if err := errors.Join(os.RemoveAll(u.tmp), os.Mkdir(u.tmp, 0o700)); err != nil {
			return nil, fault.New(fault.Invalid, "temporary files of %s: %w", u.name, err)
		}
		cmd.Env = append(cmd.Env, "TMPDIR="+u.tmp)
	}
	cmd.Stdout = log
	cmd.Stderr = log
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fault.As(fault.Fatal, err)
	}
	if err := proc.Start(cmd); err != nil {
		return nil, fault.New(fault.Invalid, "start %s: %w", u.name, err)
	}

	r := &running{cmd: cmd, stdin: stdin, ended: make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		close(r.ended)
	}()
	s.started(u, cmd.Process.Pid)

	return r, nil
}

// Pauses between restarts double from the first to the last. After a process that ran for at least steady, they begin
// with the first again, because the process does not crash at its start.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 10 * time.Second
	steady     = 5 * time.Second
)

// keep restarts a unit whenever it ends or stops answering, until ctx ends.
func (s *Supervisor) keep(ctx context.Context, u unit, r *running) {
	log := s.o.Log.With("service", u.name)
	pause := firstPause
	for {
		began := time.Now()
		unhealthy := s.watch(ctx, u, r)
		if unhealthy != nil {
			r.kill() // a process that hangs would not notice a request to stop
		}
		r.stop()
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > steady {
			pause = firstPause
		}
		why := s.why(u, r, unhealthy)
		s.problem(u.name, why)
		log.Warn("service ended; restarting it", "why", why, "pause", pause)

		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		pause = min(2*pause, lastPause)
		next, err := s.spawn(u)
		if err != nil {
			log.Error("service does not start", "error", err)
			continue
		}
		r = next
		if err := s.await(ctx, u, r); err != nil {
			log.Error("service is not healthy", "error", err)
			continue
		}
		s.problem(u.name, "")
	}
}

// why returns the reason why a process was stopped or ended. unhealthy is the error of its last health check, if it was
// stopped because of that.
func (s *Supervisor) why(u unit, r *running, unhealthy error) string {
	if unhealthy != nil {
		return "it did not answer: " + unhealthy.Error()
	}
	if state := r.cmd.ProcessState; state != nil && !state.Success() {
		return state.String() + lastLine(LogPath(s.o.Data, u.name))
	}

	return "it ended"
}

// checkEvery and maxFailed determine when a process that does not answer is replaced: after 15 s if it hangs.
const (
	checkEvery = 2 * time.Second
	maxFailed  = 3
)

// watch returns nil when the process ended or ctx is done, and the last error after maxFailed failed health checks in a
// row.
func (s *Supervisor) watch(ctx context.Context, u unit, r *running) error {
	failed := 0
	reported := true // a problem of the previous process may still be recorded
	for {
		select {
		case <-r.ended:
			return nil
		case <-ctx.Done():
			return nil
		case <-time.After(checkEvery):
		}
		if err := trim(LogPath(s.o.Data, u.name), maxLog); err != nil {
			s.o.Log.Warn("the log was not trimmed", "service", u.name, "error", err)
		}

		err := u.health(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil && reported:
			failed = 0
			reported = false
			s.problem(u.name, "")
		case err != nil:
			reported = true
			s.problem(u.name, "it does not answer: "+err.Error())
			if failed++; failed == maxFailed {
				return err
			}
		}
	}
}

func (r *running) kill() { proc.KillGroup(r.cmd) }

// stop ends a process: it closes the process's standard input, and kills the process if that does not help. It may be
// repeated.
func (r *running) stop() {
	_ = r.stdin.Close()
	select {
	case <-r.ended:
	case <-time.After(8 * time.Second):
		r.kill()
		<-r.ended
	}
}
