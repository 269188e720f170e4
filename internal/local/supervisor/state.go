package supervisor

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/config"
	"github.com/collabui/collabui/internal/failpoint"
)

// Name is the name of a service.
type Name = string

// The services. The worker's address answers health checks only.
const (
	Temporal Name = "temporal"
	S3       Name = "s3"
	Redis    Name = "redis"
	Policy   Name = "policy"
	Worker   Name = "worker"
	Viewer   Name = "viewer"
)

// Addressed are the services that clients use, in the order in which they are shown.
var Addressed = []Name{Temporal, S3, Redis, Policy, Viewer}

// State is the content of services.json, which describes the services of a data folder to clients and people.
type State struct {
	PID      int              `json:"pid"`
	Started  time.Time        `json:"started"`
	Ready    bool             `json:"ready"`
	Services map[Name]Service `json:"services"`
	Problem  string           `json:"problem,omitempty"` // why it is not ready
	UI       string           `json:"ui"`
	Tabs     int              `json:"tabs"` // concurrent episodes
}

// Service is one supervised process, or an external address.
type Service struct {
	PID      int       `json:"pid,omitempty"`
	Addr     string    `json:"addr"`
	Started  time.Time `json:"started,omitzero"`
	Restarts int       `json:"restarts"`
	External bool      `json:"external,omitempty"`
	Problem  string    `json:"problem,omitempty"` // why it is not running now
}

// Paths inside a data folder.
func statePath(data string) string   { return filepath.Join(data, "services.json") }
func lockPath(data string) string    { return filepath.Join(data, "supervisor.lock") }
func secretsPath(data string) string { return filepath.Join(data, "secrets.json") }

// IsNew reports whether no supervisor has ever run for a data folder.
func IsNew(data string) bool {
	_, err := os.Stat(secretsPath(data))

	return errors.Is(err, fs.ErrNotExist)
}

// LogPath returns the path of a service's log.
func LogPath(data string, service Name) string { return filepath.Join(data, "logs", service+".log") }

// Objects returns the folder in which the S3 server of a data folder keeps the objects, whether or not the server runs.
// own is false if there is no such folder, or if the running services use a store elsewhere.
func Objects(data string) (dir string, own bool) {
	st, _ := Read(data)
	buckets, err := filepath.Glob(filepath.Join(data, "services", "s3", "[a-z0-9]*"))
	if err != nil || st.Services[S3].External || len(buckets) != 1 {
		return "", false
	}

	return buckets[0], true
}

// Read returns the state of a data folder and reports whether its supervisor is alive.
func Read(data string) (State, bool) {
	alive := locked(lockPath(data)) // before the state is read: see Supervisor.own
	var st State
	raw, err := os.ReadFile(statePath(data))
	if err != nil || json.Unmarshal(raw, &st) != nil {
		return st, false
	}

	return st, alive
}

// locked reports whether a process holds an exclusive lock on a file.
func locked(path string) bool {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }()

	// The lock is shared, so that two clients do not take each other for a supervisor.
	return syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) != nil
}

// update changes the state and writes it to services.json.
func (s *Supervisor) update(change func(*State)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.state)
	raw, err := json.MarshalIndent(s.state, "", "  ")
	if err == nil {
		err = writeFile(statePath(s.o.Data), append(raw, '\n'), 0o644)
	}
	if err != nil {
		s.o.Log.Error("cannot write services.json", "error", err)
	}
}

// problem records why a service is not running. An empty reason means that it runs.
func (s *Supervisor) problem(name Name, why string) {
	s.update(func(st *State) {
		service := st.Services[name]
		service.Problem = why
		st.Services[name] = service
	})
}

// started records a new process of a unit.
func (s *Supervisor) started(u unit, pid int) {
	s.update(func(st *State) {
		old := st.Services[u.name]
		restarts := old.Restarts
		if !old.Started.IsZero() {
			restarts++
		}
		st.Services[u.name] = Service{
			PID: pid, Addr: u.addr, Started: time.Now(), Restarts: restarts, Problem: old.Problem,
		}
	})
}

// writeFile replaces a file atomically. After a power loss, either the old file or the new one exists.
func writeFile(path string, data []byte, mode os.FileMode) error {
	file, err := os.OpenFile(path+".new", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	err = failpoint.Do("write.state", func(torn bool) error {
		if torn {
			data = data[:len(data)/2]
		}
		_, err := file.Write(data)

		return err
	})
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}

	return errors.Join(dir.Sync(), dir.Close())
}

// Endpoints returns the endpoints of a data folder's services, for clients on this machine.
func Endpoints(data string) (config.Endpoints, error) {
	st, alive := Read(data)
	if !alive {
		return config.Endpoints{}, fault.New(fault.Transient,
			"nothing runs for %s; start it with `collabui up --data %s`", data, fault.ShellQuote(data))
	}
	sec, err := readSecrets(data)
	if err != nil {
		return config.Endpoints{}, err
	}
	endpoints, err := config.FromEnv()
	if err != nil {
		return endpoints, err
	}

	endpoints.Temporal = st.Services[Temporal].Addr
	endpoints.UI = st.UI
	endpoints.View = st.Services[Viewer].Addr
	if !st.Services[Temporal].External {
		endpoints.TemporalKey = ""
		endpoints.TemporalTLS = config.TLS{}
	}
	if st.Services[S3].External {
		endpoints.SetStore(st.Services[S3].Addr)
	} else {
		endpoints.SetLocalStore(st.Services[S3].Addr, sec.Access, sec.Secret)
	}
	endpoints.Redis = st.Services[Redis].Addr
	endpoints.Policy = st.Services[Policy].Addr
	if st.Services[Redis].External {
		endpoints.Redis = sec.Redis
	}
	if st.Services[Policy].External {
		endpoints.Policy = sec.Policy
	}

	return endpoints, nil
}
