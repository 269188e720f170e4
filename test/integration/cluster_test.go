//go:build integration

package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/collabui/collabui/test/kit/standin"
)

// lossTime is how long a machine is lost.
const lossTime = 2 * time.Minute

// acrossMachines trains adapters: a stand-in for llamafactory-cli, another for vLLM.
const acrossMachines = `name: kill
epochs: 2
slots: 12
agents: 2
rounds: 2
decoding: {temperatures: [0.5]}
finetune: {demonstrations: 20, chunk_steps: 8, max_chunks: 1, stop_low: 0.1, train: {batch_size: 4, passes: 2}}
pairs: {kind: +correction, min_pairs: 4}
train: {batch_size: 4, passes: 6}
evaluation: {val: 6, test_seeds: 2, test_templates: 0, test_apps: 0}
trainer:
  name: llamafactory
  options: {model: MODEL, devices: 0, per_device: 4, save_steps: 4}
`

// cluster is a set of services, and of hosts that share nothing else.
type cluster struct {
	*machine
	base    string // folder of the base model
	program string // stand-in
	hosts   map[string]*host
	plain   string // address of the S3 server, if hosts reach it at another one
}

// variable returns a variable of the hosts' environment.
func (c *cluster) variable(name string) (value string) {
	for _, e := range c.env {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			value = v
		}
	}

	return value
}

// host is one machine: processes in groups of their own.
type host struct {
	c     *cluster
	start []func() *exec.Cmd
	procs []*exec.Cmd
}

func (h *host) up() {
	h.procs = nil
	for _, f := range h.start {
		h.procs = append(h.procs, f())
	}
}

// signal sends a signal to all processes of the host. It waits for the end of the processes that it kills.
func (h *host) signal(s syscall.Signal) {
	h.c.t.Helper()
	for _, p := range h.procs {
		if err := syscall.Kill(-p.Process.Pid, s); err != nil {
			h.c.t.Errorf("send %v to process group %d: %v, want success", s, p.Process.Pid, err)
		}
		if s == syscall.SIGKILL {
			_ = p.Wait()
		}
	}
}

var buildStandin = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "standin")
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "standin")
	out, err := exec.Command("go", "build", "-o", file, "../standin").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, out)
	}

	return file, err
})

// newCluster starts services, and a host each for control, rollouts, training and serving. Its GPU worker trains on the
// CPU, slowly enough to be lost in the middle of an update.
func newCluster(t *testing.T) *cluster {
	t.Helper()

	return startCluster(t, "none", standin.Variable+"=slow=250")
}

// emptyCluster returns a cluster with a base model, in which nothing runs.
func emptyCluster(t *testing.T) *cluster {
	t.Helper()
	program, err := buildStandin()
	if err != nil {
		t.Fatal(err)
	}
	base := filepath.Join(t.TempDir(), "base-model")
	if err := standin.MakeModel(base, 3); err != nil {
		t.Fatal(err)
	}

	return &cluster{
		machine: newMachine(t, strings.ReplaceAll(acrossMachines, "MODEL", base)),
		base:    base,
		program: program,
		hosts:   map[string]*host{},
	}
}

// startCluster starts a cluster whose GPU worker has the given GPUs. env is added to the environment of all hosts.
func startCluster(t *testing.T, gpus string, env ...string) *cluster {
	t.Helper()
	c := emptyCluster(t)
	program, base := c.program, c.base
	c.env = append(c.env, env...)
	gate, engine := freeAddr(t), freeAddr(t)
	c.services(gate)
	c.trainer()

	c.add("head", c.worker("--roles", "control"))
	c.add("rollout", c.worker("--roles", "rollout,model", "--tabs", "2"))
	c.add("gpu", c.worker("--roles", "gpu", "--gpus", gpus, "--updates", "1", "--work", c.file("gpu")))
	c.add("serve",
		func() *exec.Cmd { return c.process(program, "serve", engine, base) },
		c.worker("--roles", "serve", "--listen", gate, "--server", "http://"+engine, "--base-model", base,
			"--work", c.file("serve")))
	t.Cleanup(c.down)
	for _, h := range c.hosts {
		h.up()
	}

	return c
}

// services starts Temporal, S3 and Redis, and adds their addresses and the gateway's to the hosts' environment. s3
// contains further arguments of the S3 server.
func (c *cluster) services(gate string, s3 ...string) {
	c.t.Helper()
	dir := filepath.Join(c.data, "services")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		c.t.Fatal(err)
	}
	redis := outsideRedis(c.t)
	c.env = append(c.env, s3Env...)
	c.env = append(c.env,
		"COLLABUI_CLUSTER=1",
		"COLLABUI_BUCKET="+s3Bucket,
		"COLLABUI_POLICY_KEY=between-us",
		"COLLABUI_POLICY=http://"+gate+"/v1",
		"COLLABUI_TEMPORAL="+outsideTemporal(c.t, dir),
		"COLLABUI_S3="+outsideS3(c.t, dir, s3...),
		"COLLABUI_REDIS="+redis,
	)
}

// trainer makes the hosts find the stand-in as llamafactory-cli.
func (c *cluster) trainer() {
	c.t.Helper()
	cli := filepath.Join(c.file("bin"), "llamafactory-cli")
	if err := os.MkdirAll(filepath.Dir(cli), 0o755); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(cli, []byte("#!/bin/sh\nexec "+c.program+" \"$@\"\n"), 0o755); err != nil {
		c.t.Fatal(err)
	}
	c.env = append(c.env, "COLLABUI_LLAMAFACTORY="+cli)
}

func (c *cluster) add(name string, start ...func() *exec.Cmd) {
	c.hosts[name] = &host{c: c, start: start}
}

func (c *cluster) worker(args ...string) func() *exec.Cmd {
	return c.starts(binary("collabui"), append([]string{"worker"}, args...)...)
}

// starts returns a function that starts a program on a host.
func (c *cluster) starts(program string, args ...string) func() *exec.Cmd {
	return func() *exec.Cmd { return c.process(program, args...) }
}

// process starts a program in a process group of its own.
func (c *cluster) process(program string, args ...string) *exec.Cmd {
	c.t.Helper()
	log, err := os.OpenFile(c.file("machines.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		c.t.Fatal(err)
	}
	defer log.Close()

	cmd := exec.Command(program, args...)
	cmd.Env = append(append(os.Environ(), "COLLABUI_HOSTS=*,localhost"), c.env...) // all hosts are this machine
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}

	return cmd
}

// down kills all hosts and, after a failure, shows the end of their log.
func (c *cluster) down() {
	for _, h := range c.hosts {
		for _, p := range h.procs {
			_ = syscall.Kill(-p.Process.Pid, syscall.SIGKILL)
		}
	}
	if c.t.Failed() {
		raw, _ := os.ReadFile(c.file("machines.log"))
		c.t.Logf("%s", raw[max(0, len(raw)-8000):])
	}
}
