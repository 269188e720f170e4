// Package supervisor runs the local services, the policy server and the worker of one data folder: health-checked start, restart of what dies, clean
// stop. Nobody outlives it: children end when its pipe to them closes.
package supervisor

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/process/config"
)

// State is services.json: what runs for a data folder, for clients and people.
type State struct {
	PID      int                `json:"pid"`
	Started  time.Time          `json:"started"`
	Ready    bool               `json:"ready"`
	Services map[string]Service `json:"services"`
	Problem  string             `json:"problem,omitempty"` // why it is not ready
	UI       string             `json:"ui"`
	Tabs     int                `json:"tabs"` // episodes at once
}

// Service is one supervised process, or an address given from outside.
type Service struct {
	PID      int       `json:"pid,omitempty"`
	Addr     string    `json:"addr"`
	Started  time.Time `json:"started,omitzero"`
	Restarts int       `json:"restarts"`
	External bool      `json:"external,omitempty"`
	Problem  string    `json:"problem,omitempty"` // why it is not running now
}

// Options of a supervisor.
type Options struct {
	Data     string           // folder
	External config.Endpoints // addresses that replace local services, each alone
	Tabs     int
	Log      func(format string, args ...any)
}

// Supervisor of one data folder.
type Supervisor struct {
	o     Options
	lock  *os.File
	ends  config.Endpoints
	mu    sync.Mutex
	state State
}

// Paths inside a data folder.
func statePath(data string) string   { return filepath.Join(data, "services.json") }
func lockPath(data string) string    { return filepath.Join(data, "supervisor.lock") }
func secretsPath(data string) string { return filepath.Join(data, "secrets.json") }

// LogPath is the log of a service.
func LogPath(data, service string) string { return filepath.Join(data, "logs", service+".log") }

// secrets of the local services: made once, readable by the owner only.
type secrets struct {
	Access string `json:"access"`
	Secret string `json:"secret"`
	Ports  []int  `json:"ports"`            // kept, so that clients of a restarted service find it again
	Redis  string `json:"redis,omitempty"`  // address from outside: it may hold a password
	Policy string `json:"policy,omitempty"` // likewise
}

// Start locks the folder and starts everything; it returns when all of it is healthy.
func Start(ctx context.Context, o Options) (*Supervisor, error) {
	data, err := filepath.Abs(o.Data)
	if err != nil {
		return nil, fault.New(fault.Invalid, "data folder %q: %w", o.Data, err)
	}
	o.Data = data
	if err := os.MkdirAll(filepath.Join(data, "logs"), 0o755); err != nil {
		return nil, fault.New(fault.Invalid, "data folder %s: %w (choose another with --data)", data, err)
	}
	s := &Supervisor{o: o, state: State{PID: os.Getpid(), Tabs: o.Tabs, Started: time.Now(), Services: map[string]Service{}}}
	if s.lock, err = os.OpenFile(lockPath(data), os.O_CREATE|os.O_RDWR, 0o644); err != nil {
		return nil, fault.New(fault.Invalid, "lock %s: %w", lockPath(data), err)
	}
	if err := lockFor(s.lock, 2*time.Second); err != nil {
		return nil, fault.New(fault.Invalid, "another supervisor runs for %s: stop it with `collabui down --data %s`, or use another folder", data, o.Data)
	}
	s.save() // at once: what an earlier supervisor wrote is over
	if err := s.start(ctx); err != nil {
		s.mu.Lock()
		s.state.Problem = err.Error()
		s.mu.Unlock()
		s.save()
		return nil, err
	}
	s.mu.Lock()
	s.state.Ready = true
	s.mu.Unlock()
	s.save()
	return s, nil
}

// lockFor tries for a while: clients probe the lock for an instant to see whether anyone holds it.
func lockFor(f *os.File, limit time.Duration) error {
	var err error
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
			return nil
		}
	}
	return err
}

func (s *Supervisor) start(ctx context.Context) error {
	sec, err := s.secrets()
	if err != nil {
		return err
	}
	if sec.Redis != s.o.External.Redis || sec.Policy != s.o.External.Policy {
		sec.Redis, sec.Policy = s.o.External.Redis, s.o.External.Policy
		if err := s.keepSecrets(sec); err != nil {
			return err
		}
	}
	plan, err := s.plan(sec)
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	errs := make([]error, len(plan))
	for stage := range 2 { // services first, then what needs them
		for i, u := range plan {
			if u.stage == stage {
				wg.Go(func() { errs[i] = s.launch(ctx, u) })
			}
		}
		wg.Wait()
		if err := errors.Join(errs...); err != nil {
			return err
		}
	}
	return nil
}

// secrets reads or makes keys and ports.
func (s *Supervisor) secrets() (secrets, error) {
	var sec secrets
	raw, err := os.ReadFile(secretsPath(s.o.Data))
	if err == nil && json.Unmarshal(raw, &sec) == nil && len(sec.Ports) == numPorts {
		if free(sec.Ports, 5*time.Second) {
			return sec, nil
		}
		s.o.Log("other programs use ports of this folder; choosing new ones")
	} else {
		b := make([]byte, 32)
		if _, err := rand.Read(b); err != nil {
			return sec, fault.As(fault.Fatal, err)
		}
		sec = secrets{Access: hex.EncodeToString(b[:8]), Secret: hex.EncodeToString(b[8:])}
	}
	if sec.Ports, err = freePorts(numPorts); err != nil {
		return sec, err
	}
	return sec, s.keepSecrets(sec)
}

func (s *Supervisor) keepSecrets(sec secrets) error {
	raw, err := json.Marshal(sec)
	if err == nil {
		err = writeFile(secretsPath(s.o.Data), raw, 0o600)
	}
	if err != nil {
		return fault.New(fault.Invalid, "write %s: %w", secretsPath(s.o.Data), err)
	}
	return nil
}

// Owns tells whether a folder is a data folder: what purge may delete.
func Owns(data string) bool {
	_, err := os.Stat(lockPath(data))
	return err == nil
}

// writeFile replaces a file whole.
func writeFile(path string, b []byte, mode os.FileMode) error {
	tmp := path + ".new"
	if err := os.WriteFile(tmp, b, mode); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}

func (s *Supervisor) save() {
	s.mu.Lock()
	defer s.mu.Unlock()
	raw, err := json.MarshalIndent(s.state, "", "  ")
	if err == nil {
		err = writeFile(statePath(s.o.Data), append(raw, '\n'), 0o644)
	}
	if err != nil {
		s.o.Log("cannot write services.json: %v", err)
	}
}

// Read gives the state of a data folder and whether its supervisor lives.
func Read(data string) (State, bool) {
	var st State
	raw, err := os.ReadFile(statePath(data))
	if err != nil || json.Unmarshal(raw, &st) != nil {
		return st, false
	}
	f, err := os.OpenFile(lockPath(data), os.O_RDWR, 0)
	if err != nil {
		return st, false
	}
	defer func() { _ = f.Close() }()
	if syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == nil { // shared: two clients that look at once do not take each other for a supervisor
		return st, false // the lock was free: nobody runs
	}
	return st, true
}

// Endpoints of a data folder's services, for clients on this machine.
func Endpoints(data string) (config.Endpoints, error) {
	st, alive := Read(data)
	if !alive {
		return config.Endpoints{}, fault.New(fault.Transient, "nothing runs for %s; start it with `collabui up --data %s`", data, data)
	}
	raw, err := os.ReadFile(secretsPath(data))
	if err != nil {
		return config.Endpoints{}, fault.New(fault.Invalid, "%w", err)
	}
	var sec secrets
	if err := json.Unmarshal(raw, &sec); err != nil {
		return config.Endpoints{}, fault.New(fault.Corrupt, "%s: %w", secretsPath(data), err)
	}
	e, err := config.FromEnv()
	if err != nil {
		return e, err
	}
	e.Temporal, e.UI = st.Services["temporal"].Addr, st.UI
	if !st.Services["temporal"].External {
		e.TemporalKey, e.TemporalTLS = "", config.TLS{}
	}
	e.SetStore(st.Services["s3"].Addr)
	if !st.Services["s3"].External {
		e.Store.Access, e.Store.Secret = sec.Access, sec.Secret
	}
	e.Redis, e.Policy = st.Services["redis"].Addr, st.Services["policy"].Addr
	if st.Services["redis"].External {
		e.Redis = sec.Redis
	}
	if st.Services["policy"].External {
		e.Policy = sec.Policy
	}
	return e, nil
}

// Stop asks the supervisor of a data folder to end and waits for it.
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

// program gives the path of one of our binaries: beside this one.
func program(name string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fault.As(fault.Fatal, err)
	}
	p := filepath.Join(filepath.Dir(self), name)
	if _, err := exec.LookPath(p); err != nil {
		return "", fault.New(fault.Invalid, "%s is missing beside %s: build it with `make build`", name, self)
	}
	return p, nil
}

var errGone = fmt.Errorf("the process ended")
