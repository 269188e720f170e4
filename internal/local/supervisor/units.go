package supervisor

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/collabui/collabui/envadapters/hosts"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/config"
)

// stage is the point of the start at which a unit is started.
type stage int

const (
	services  stage = iota
	processes       // they need the services
)

// unit is one supervised process.
type unit struct {
	name   Name
	stage  stage
	addr   string // address as clients use it
	path   string // path of the program
	args   []string
	env    []string
	tmp    string // folder for its temporary files, emptied before every start; if "", the system's
	health func(ctx context.Context) error
}

// plan returns the units to start here: one per service without an external address, and the worker. It sets s.ends,
// and records the external services.
func (s *Supervisor) plan(sec secrets) ([]unit, error) {
	endpoints := s.o.External
	services, err := program("collabui-local")
	if err != nil && (endpoints.Temporal == "" || endpoints.Store.Endpoint == "" || endpoints.Redis == "") {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fault.As(fault.Fatal, err)
	}
	s.ends = endpoints
	p := planning{Supervisor: s, secrets: sec, services: services, self: self}
	p.temporal()
	p.store()
	p.redis()
	p.policy()
	p.viewer()
	p.units = append(p.units, unit{
		name: Worker, stage: processes, path: self, addr: p.at(portWorker),
		tmp: s.temporary(),
		args: []string{
			"worker", parentPipe, "--tabs", fmt.Sprint(s.o.Tabs), "--health", p.at(portWorker),
			"--work", s.temporary() + "-work",
		},
		health: HTTPHealth("http://" + p.at(portWorker) + "/health"),
		env: []string{
			hosts.Env + "=" + cmp.Or(os.Getenv(hosts.Env), hosts.Anywhere),
			config.EnvKeyFile + "=" + cmp.Or(os.Getenv(config.EnvKeyFile), filepath.Join(s.o.Data, config.KeyFile)),
		},
	})

	return p.units, nil
}

// temporary returns the folder for the worker's temporary files. Its path is short, because it contains sockets. Beside
// it is the folder of training jobs, with which a restarted worker continues. No other data folder, and no other
// person's, has the same folders.
func (s *Supervisor) temporary() string {
	return filepath.Join(os.TempDir(), fmt.Sprintf("collabui-%x", sha256.Sum256([]byte(s.o.Data)))[:17])
}

// parentPipe makes a child end when its standard input closes.
const parentPipe = "--parent-pipe"

// planning is the state of one plan.
type planning struct {
	*Supervisor
	secrets  secrets
	services string // path of collabui-local
	self     string // path of this program
	units    []unit
}

// at returns the address of one of the folder's ports.
func (p *planning) at(port int) string { return local(p.secrets.Ports[port]) }

func (p *planning) dir() string { return filepath.Join(p.o.Data, "services") }

// add plans a unit unless an external address is given, and returns the address to use.
func (p *planning) add(external string, u unit) string {
	if external == "" {
		p.units = append(p.units, u)
		return u.addr
	}
	p.state.Services[u.name] = Service{Addr: config.Redacted(external), External: true}

	return external
}

func (p *planning) temporal() {
	addr := p.at(portTemporal)
	ui := p.at(portUI)
	viewer := cmp.Or(p.o.External.View, "http://"+p.at(portViewer))
	p.ends.Temporal = p.add(p.o.External.Temporal, unit{
		name: Temporal, addr: addr, path: p.services, health: temporalHealth(addr),
		args: []string{
			"temporal", "--dir", p.dir(), "--addr", addr, "--ui-addr", ui,
			"--namespace", p.o.External.Namespace, "--codec", p.o.External.Codec, "--viewer", viewer, parentPipe,
		},
	})
	if p.o.External.Temporal == "" {
		p.ends.UI = "http://" + ui
		p.ends.TemporalKey = ""
		p.ends.TemporalTLS = config.TLS{}
	}
	p.state.UI = p.ends.UI
}

func (p *planning) store() {
	endpoints := p.o.External
	addr := p.at(portS3)
	if endpoints.Store.Endpoint == "" {
		p.ends.SetLocalStore(addr, p.secrets.Access, p.secrets.Secret)
	}
	p.add(endpoints.StoreURL(), unit{
		name: S3, addr: addr, path: p.services, health: s3Health(addr),
		args: []string{"s3", "--dir", p.dir(), "--addr", addr, "--bucket", endpoints.Store.Bucket, parentPipe},
		env:  []string{config.EnvAccess + "=" + p.secrets.Access, config.EnvSecret + "=" + p.secrets.Secret},
	})
}

func (p *planning) redis() {
	addr := p.at(portRedis)
	p.ends.Redis = p.add(p.o.External.Redis, unit{
		name: Redis, addr: "redis://" + addr, path: p.services, health: redisHealth(addr),
		args: []string{"redis", "--addr", addr, parentPipe},
	})
}

func (p *planning) policy() {
	addr := p.at(portPolicy)
	p.ends.Policy = p.add(p.o.External.Policy, unit{
		name: Policy, stage: processes, addr: "http://" + addr + "/v1", path: p.self,
		health: HTTPHealth("http://" + addr + "/health"),
		args:   []string{"worker", "--roles", "policy-server", "--listen", addr, parentPipe},
	})
}

func (p *planning) viewer() {
	addr := p.at(portViewer)
	p.ends.View = p.add(p.o.External.View, unit{
		name: Viewer, stage: processes, addr: "http://" + addr, path: p.self,
		health: HTTPHealth("http://" + addr + "/health"),
		args:   []string{"view", "--cluster", "--listen", addr, parentPipe},
	})
}

// program returns the path of another program of collabui, which is in the same folder as this one.
func program(name string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fault.As(fault.Fatal, err)
	}
	path := filepath.Join(filepath.Dir(self), name)
	if _, err := exec.LookPath(path); err != nil {
		return "", fault.New(fault.Invalid,
			"%s is missing next to %s: take it from a release, or run `make build` in a checkout", name, self)
	}

	return path, nil
}
