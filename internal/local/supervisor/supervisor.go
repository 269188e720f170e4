// Package supervisor runs the local services, the policy server and the worker of one data folder: it starts them,
// checks their health, restarts the ones that die, and stops all of them in order. No child outlives it.
package supervisor

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/config"
)

// Options of a supervisor.
type Options struct {
	Data     string           // the data folder
	External config.Endpoints // addresses that replace local services, each independently
	Tabs     int              // concurrent episodes
	Log      *slog.Logger
}

// Supervisor supervises the processes of one data folder.
type Supervisor struct {
	o     Options
	locks []*os.File       // held until the supervisor ends
	ends  config.Endpoints // addresses of all services, as children receive them

	mu    sync.Mutex
	state State
}

// Start locks the folder and starts everything. It returns when all services are healthy, or with the first error.
func Start(ctx context.Context, options Options) (*Supervisor, error) {
	data, err := filepath.Abs(options.Data)
	if err != nil {
		return nil, fault.New(fault.Invalid, "data folder %q: %w", options.Data, err)
	}
	options.Data = data
	if err := MakeFolder(data); err != nil {
		return nil, err
	}
	syscall.Umask(0o077) // for this process and all services that it starts

	supervisor := &Supervisor{o: options, state: State{
		PID: os.Getpid(), Tabs: options.Tabs, Started: time.Now(), Services: map[Name]Service{},
	}}
	if err := supervisor.own(); err != nil {
		return nil, err
	}

	err = supervisor.start(ctx)
	supervisor.update(func(st *State) {
		st.Ready = err == nil
		switch {
		case err != nil && ctx.Err() != nil:
			st.Problem = "it was stopped while it started"
		case err != nil:
			st.Problem = err.Error()
		}
	})
	if err != nil {
		return nil, err
	}

	return supervisor, nil
}

// MakeFolder creates a data folder that only its owner can read. In an existing folder, it restricts the parts that
// contain data. It may be repeated.
func MakeFolder(data string) error {
	err := os.MkdirAll(data, 0o700)
	for _, part := range []string{"logs", "services"} {
		path := filepath.Join(data, part)
		if err == nil {
			err = os.MkdirAll(path, 0o700)
		}
		if err == nil {
			err = os.Chmod(path, 0o700) // an earlier version let all accounts read it
		}
	}
	if err != nil {
		return fault.New(fault.Invalid, "data folder %s: %w (choose another with --data)", data, err)
	}

	return nil
}

// own makes this process the supervisor of the data folder. First it locks the folder itself against other supervisors.
// Then it replaces the state that an earlier supervisor left. Only then does it lock the file that shows clients that a
// supervisor runs, so that clients read its state and not an older one.
func (s *Supervisor) own() error {
	if err := s.takeLock(s.o.Data, os.O_RDONLY); err != nil {
		return err
	}
	s.update(func(*State) {})

	return s.takeLock(lockPath(s.o.Data), os.O_CREATE|os.O_RDWR)
}

// takeLock locks a file. It retries for a while, because clients hold a lock for an instant to see whether it is free.
func (s *Supervisor) takeLock(path string, flag int) error {
	const limit = 2 * time.Second
	file, err := os.OpenFile(path, flag, 0o644)
	if err != nil {
		return fault.New(fault.Invalid, "lock %s: %w", path, err)
	}
	s.locks = append(s.locks, file)

	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return nil
		}
	}

	return fault.New(fault.Invalid,
		"another supervisor runs for %s: stop it with `collabui down --data %s`, or use another folder",
		s.o.Data, fault.ShellQuote(s.o.Data))
}

// start launches all units: the services first, then the processes that need them.
func (s *Supervisor) start(ctx context.Context) error {
	sec, err := s.secrets()
	if err != nil {
		return err
	}
	if sec.Redis != s.o.External.Redis || sec.Policy != s.o.External.Policy {
		sec.Redis = s.o.External.Redis
		sec.Policy = s.o.External.Policy
		if err := s.keepSecrets(sec); err != nil {
			return err
		}
	}
	units, err := s.plan(sec)
	if err != nil {
		return err
	}

	for _, stage := range []stage{services, processes} {
		var group errgroup.Group
		for _, u := range units {
			if u.stage == stage {
				group.Go(func() error { return s.launch(ctx, u) })
			}
		}
		if err := group.Wait(); err != nil {
			return err
		}
	}

	return nil
}

// Wait blocks until ctx ends and all processes have ended.
func (s *Supervisor) Wait(ctx context.Context) {
	const limit = 20 * time.Second
	<-ctx.Done()
	for end := time.Now().Add(limit); time.Now().Before(end) && s.anyAlive(); {
		time.Sleep(30 * time.Millisecond)
	}
	_ = os.RemoveAll(s.temporary())
	_ = os.Remove(statePath(s.o.Data))
	for _, file := range s.locks {
		_ = file.Close()
	}
}

func (s *Supervisor) anyAlive() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, service := range s.state.Services {
		if service.PID > 0 && syscall.Kill(service.PID, 0) == nil {
			return true
		}
	}

	return false
}

// Stop makes the supervisor of a data folder end, and waits for it at most limit. It reports whether one was running.
func Stop(data string, limit time.Duration) (bool, error) {
	st, alive := Read(data)
	if !alive {
		return false, nil
	}
	if err := syscall.Kill(st.PID, syscall.SIGTERM); err != nil {
		return true, fault.New(fault.Transient, "stop supervisor %d: %w", st.PID, err)
	}
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if _, alive := Read(data); !alive {
			return true, nil
		}
	}

	return true, fault.New(fault.Transient, "supervisor %d did not end within %v", st.PID, limit)
}
