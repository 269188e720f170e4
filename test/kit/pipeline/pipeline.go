// Package pipeline runs Temporal, S3, Redis and a worker as real processes for tests of whole runs. The environment is
// the scripted one, and policies and trainer are fakes that answer immediately, so that only the pipeline is tested.
package pipeline

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"github.com/collabui/collabui/internal/config"
	"github.com/collabui/collabui/internal/store"
)

// Names of the processes.
const (
	Worker   = "worker"
	Temporal = "temporal"
	S3       = "s3"
	Redis    = "redis"
)

// Services are the addresses of the local services.
type Services struct{ Temporal, S3, Redis string }

// Pipeline is a set of processes on one folder. Safe for concurrent use.
type Pipeline struct {
	Services Services
	Dir      string

	local string // collabui-local
	mu    sync.Mutex
	run   map[string]*process
	known map[string]bool // services whose addresses other processes may know
}

// process is a process that runs.
type process struct {
	cmd   *exec.Cmd
	stdin io.Closer
	ended chan struct{}
}

// New returns a pipeline that keeps its data in dir, on free ports. Nothing runs yet. local is the program
// collabui-local.
func New(dir, local string) (*Pipeline, error) {
	pipeline := &Pipeline{Dir: dir, local: local, run: map[string]*process{}, known: map[string]bool{}}
	for _, addr := range []*string{&pipeline.Services.Temporal, &pipeline.Services.S3, &pipeline.Services.Redis} {
		var err error
		if *addr, err = freeAddr(); err != nil {
			return nil, err
		}
	}

	return pipeline, nil
}

// The keys of the S3 server, which is gone after the test.
const (
	keyAccess = "pipeline"
	keySecret = "pipeline-secret"
)

// Start starts a service and waits until it is ready. At its first start it moves to another port if a connection of
// another program has taken its own port meanwhile.
func (p *Pipeline) Start(name string) error {
	addr := map[string]*string{
		Temporal: &p.Services.Temporal, S3: &p.Services.S3, Redis: &p.Services.Redis,
	}[name]
	err := p.start(name)
	for range 3 {
		p.mu.Lock()
		known := p.known[name]
		p.known[name] = known || err == nil
		p.mu.Unlock()
		if err == nil || known {
			break
		}
		if *addr, err = freeAddr(); err == nil {
			err = p.start(name)
		}
	}

	return err
}

func (p *Pipeline) start(name string) error {
	args := map[string][]string{
		Temporal: {"--dir", p.Dir, "--addr", p.Services.Temporal, "--namespace", namespace},
		S3:       {"--dir", p.Dir, "--addr", p.Services.S3, "--bucket", bucket},
		Redis:    {"--addr", p.Services.Redis},
	}[name]
	env := []string{"COLLABUI_S3_ACCESS_KEY=" + keyAccess, "COLLABUI_S3_SECRET_KEY=" + keySecret}

	return p.spawn(name, p.local, append([]string{name, "--parent-pipe"}, args...), env)
}

const (
	namespace = "collabui"
	bucket    = "collabui"
)

// StartWorker starts this program as a worker that reaches the services at the given addresses, which may belong to
// proxies. TestMain must call Main.
func (p *Pipeline) StartWorker(at Services, env ...string) error {
	return p.StartWorkerAs(Worker, at, env...)
}

// StartWorkerAs is StartWorker for one of several workers, under its own name.
func (p *Pipeline) StartWorkerAs(name string, at Services, env ...string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	env = append(env, workerEnv+"="+strings.Join([]string{at.Temporal, at.S3, at.Redis}, " "))

	return p.spawn(name, self, nil, env)
}

// spawn starts a program and waits for its first line.
func (p *Pipeline) spawn(name, program string, args, env []string) error {
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if cmd.Stderr, err = os.OpenFile(p.Log(name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w; want it built: make build", name, err)
	}
	r := &process{cmd: cmd, stdin: in, ended: make(chan struct{})}
	p.mu.Lock()
	p.run[name] = r
	p.mu.Unlock()

	lines := bufio.NewReader(out)
	_, err = lines.ReadString('\n')
	go func() {
		_, _ = io.Copy(io.Discard, lines)
		_ = cmd.Wait()
		close(r.ended)
	}()
	if err != nil {
		return fmt.Errorf("%s ended before it was ready; its log is %s", name, p.Log(name))
	}

	return nil
}

// Log returns the log file of a process.
func (p *Pipeline) Log(name string) string { return p.Dir + "/" + name + ".log" }

// Signal sends a signal to a process, if it is running.
func (p *Pipeline) Signal(name string, signal syscall.Signal) {
	if pid := p.PID(name); pid > 0 {
		_ = syscall.Kill(pid, signal)
	}
}

// PID returns the id of a running process, or 0.
func (p *Pipeline) PID(name string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.run[name]
	if r == nil {
		return 0
	}
	select {
	case <-r.ended:
		return 0
	default:
		return r.cmd.Process.Pid
	}
}

// End ends a process immediately, if it is running, and waits until it is gone.
func (p *Pipeline) End(name string) {
	p.Signal(name, syscall.SIGKILL)
	p.mu.Lock()
	r := p.run[name]
	p.mu.Unlock()
	if r != nil {
		<-r.ended
		_ = r.stdin.Close()
	}
}

// Close ends all processes, the services last.
func (p *Pipeline) Close() {
	services := []string{Temporal, S3, Redis}
	p.mu.Lock()
	names := slices.Collect(maps.Keys(p.run))
	p.mu.Unlock()
	isService := func(name string) bool { return slices.Contains(services, name) }
	for _, name := range append(slices.DeleteFunc(names, isService), services...) {
		p.End(name)
	}
}

// Bucket returns the store at the address of its server.
func (p *Pipeline) Bucket() (store.Bucket, error) { return openBucket(p.Services.S3) }

// openBucket opens the store as programs do, with their failpoints.
func openBucket(addr string) (store.Bucket, error) {
	at := config.Endpoints{
		Store: store.Config{Endpoint: addr, Bucket: bucket, Access: keyAccess, Secret: keySecret},
	}

	return at.OpenStore()
}

// Client connects to Temporal.
func (p *Pipeline) Client() (client.Client, error) { return dial(p.Services.Temporal) }

func dial(addr string) (client.Client, error) {
	quiet := log.NewStructuredLogger(slog.New(slog.DiscardHandler))
	var c client.Client
	var err error
	for range 40 { // it may be starting, or behind a proxy that refuses
		if c, err = client.Dial(client.Options{HostPort: addr, Namespace: namespace, Logger: quiet}); err == nil {
			return c, nil
		}
		time.Sleep(250 * time.Millisecond)
	}

	return nil, errors.Join(errors.New("no Temporal"), err)
}

func freeAddr() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer func() { _ = listener.Close() }()

	return listener.Addr().String(), nil
}
