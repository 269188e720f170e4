//go:build integration

package integration

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
evaluation: {val: 6, test_seeds: 4, test_templates: 0}
trainer:
  name: llamafactory
  options: {model: MODEL, devices: 0, per_device: 4, save_steps: 4}
`

// cluster is services, and machines that share nothing else.
type cluster struct {
	*machine
	program  string // stand-in
	model    string
	machines map[string]*host
}

// host is one machine: processes in groups of their own.
type host struct {
	c     *cluster
	start func() []*exec.Cmd
	procs []*exec.Cmd
}

func (h *host) up() { h.procs = h.start() }

func (h *host) signal(s syscall.Signal) {
	for _, p := range h.procs {
		if err := syscall.Kill(-p.Process.Pid, s); err != nil {
			h.c.t.Errorf("%v: %v", s, err)
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

func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{machine: newMachine(t), machines: map[string]*host{}}
	var err error
	if c.program, err = buildStandin(); err != nil {
		t.Fatal(err)
	}
	c.model = c.file("base-model")
	if err := standin.MakeModel(c.model, 3); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(c.spec, []byte(strings.ReplaceAll(acrossMachines, "MODEL", c.model)), 0o644); err != nil {
		t.Fatal(err)
	}
	keys := []string{"COLLABUI_S3_ACCESS_KEY=1234567890abcdef", "COLLABUI_S3_SECRET_KEY=1234567890abcdef", "COLLABUI_BUCKET=collabui"}
	dir := filepath.Join(c.data, "services")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	gate, engine := freeAddr(t), freeAddr(t)
	c.env = append(c.env, keys...)
	c.env = append(c.env, "COLLABUI_CLUSTER=1", "COLLABUI_POLICY_KEY=between-us", "COLLABUI_POLICY=http://"+gate+"/v1",
		"COLLABUI_TEMPORAL="+c.outside(nil, "collabui-local", "temporal", "--dir", dir, "--namespace", "collabui"),
		"COLLABUI_S3="+c.outside(keys, "collabui-local", "s3", "--dir", dir, "--bucket", "collabui"),
		"COLLABUI_REDIS=redis://"+c.outside(nil, "collabui-local", "redis"))
	cli := filepath.Join(c.file("bin"), "llamafactory-cli")
	if err := os.MkdirAll(filepath.Dir(cli), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(cli, []byte("#!/bin/sh\nexec "+c.program+" \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	worker := func(args ...string) func() *exec.Cmd {
		return func() *exec.Cmd { return c.process(binary(), append([]string{"worker"}, args...)...) }
	}
	c.add("head", worker("--roles", "control"))
	c.add("rollout", worker("--roles", "rollout,model", "--tabs", "2"))
	c.add("gpu", worker("--roles", "gpu", "--gpus", "none", "--updates", "1", "--work", c.file("gpu")))
	c.add("serve", func() *exec.Cmd { return c.process(c.program, "serve", engine, c.model) },
		worker("--roles", "serve", "--listen", gate, "--server", "http://"+engine, "--base-model", c.model, "--work", c.file("serve")))
	c.env = append(c.env, "COLLABUI_LLAMAFACTORY="+cli, standin.Variable+"=slow=250")
	for _, h := range c.machines {
		h.up()
	}
	t.Cleanup(func() {
		for _, h := range c.machines {
			for _, p := range h.procs {
				_ = syscall.Kill(-p.Process.Pid, syscall.SIGKILL)
			}
		}
		if t.Failed() {
			raw, _ := os.ReadFile(c.file("machines.log"))
			t.Logf("%s", raw[max(0, len(raw)-8000):])
		}
	})
	return c
}

func (c *cluster) add(name string, starts ...func() *exec.Cmd) {
	c.machines[name] = &host{c: c, start: func() []*exec.Cmd {
		var out []*exec.Cmd
		for _, f := range starts {
			out = append(out, f())
		}
		return out
	}}
}

func (c *cluster) process(program string, args ...string) *exec.Cmd {
	c.t.Helper()
	log, err := os.OpenFile(c.file("machines.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		c.t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(program, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), c.env...), log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	return cmd
}

// end waits for the run and gives its final digest.
func (c *cluster) end() shown {
	c.t.Helper()
	var s shown
	c.eventually("the run ends", 8*time.Minute, func() bool {
		var err error
		s, err = c.show()
		return err == nil && s.Status == "finished"
	})
	if out, err := c.try("fsck"); err != nil {
		c.t.Errorf("fsck: %v\n%s", err, out)
	}
	return s
}

// TestTheLossOfAMachineCostsNoCommittedWork: rollouts, training and serving stand on three machines that share Temporal, S3 and Redis only. Each is lost for two minutes in the middle of
// its work, two by a kill of all their processes, the GPU machine by a freeze, as when a network parts: it comes back as if nothing had happened. All end with the same digest.
func TestTheLossOfAMachineCostsNoCommittedWork(t *testing.T) {
	whole := make(chan string, 1)
	t.Run("group", func(t *testing.T) {
		digests, mu := map[string]string{}, sync.Mutex{}
		for name, lose := range map[string]func(c *cluster){
			"nobody": func(*cluster) {},
			"drained": func(c *cluster) {
				c.eventually("an update has a checkpoint", 4*time.Minute, func() bool { return c.count("agents/0/job-checkpoint") > 0 })
				h := c.machines["gpu"]
				h.signal(syscall.SIGTERM)
				start := time.Now()
				if err := h.procs[0].Wait(); err != nil {
					c.t.Errorf("the drained worker ended with %v", err)
				}
				c.t.Logf("the GPU worker ended %v after SIGTERM", time.Since(start).Round(time.Second))
				if left := c.alive(); slices.ContainsFunc(left, func(s string) bool { return strings.Contains(s, "standin train") }) {
					c.t.Errorf("training goes on: %v", left)
				}
				h.up()
			},
			"rollout": func(c *cluster) {
				c.eventually("epoch 1 rolls out", 3*time.Minute, func() bool { return c.count("epochs/0001/episodes") > 10 })
				c.lost("rollout", syscall.SIGKILL)
			},
			"gpu": func(c *cluster) {
				c.eventually("an update has a checkpoint", 4*time.Minute, func() bool { return c.count("agents/0/job-checkpoint") > 0 })
				c.lost("gpu", syscall.SIGSTOP)
			},
			"serve": func(c *cluster) {
				c.eventually("epoch 2 rolls out", 5*time.Minute, func() bool { return c.count("epochs/0002/episodes") > 10 })
				c.lost("serve", syscall.SIGKILL)
			},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				c := newCluster(t)
				c.must("train", c.spec, "--detach")
				lose(c)
				s := c.end()
				mu.Lock()
				defer mu.Unlock()
				if digests[name] = s.FinalDigest; name == "nobody" {
					whole <- s.FinalDigest
				}
			})
		}
		t.Cleanup(func() {
			want := <-whole
			for name, d := range digests {
				if d != want || d == "" {
					t.Errorf("%s was lost: final digest %s instead of %s", name, d, want)
				}
			}
			t.Logf("final digest of all: %s", want)
		})
	})
}

// lost takes a machine away for lossTime and checks that nothing that was recorded has changed meanwhile, and that what needs the machine waits.
func (c *cluster) lost(name string, how syscall.Signal) {
	c.t.Helper()
	h := c.machines[name]
	before := c.objects()
	h.signal(how)
	c.t.Logf("%s is lost", name)
	time.Sleep(lossTime)
	if s, err := c.show(); err != nil || s.Status != "running" {
		c.t.Errorf("without %s the run is %q: %v", name, s.Status, err)
	}
	if how == syscall.SIGSTOP {
		h.signal(syscall.SIGCONT)
	} else {
		h.up()
	}
	after := c.objects()
	for key, sum := range before {
		if after[key] != sum {
			c.t.Errorf("%s is no longer what it was", key)
		}
	}
	c.t.Logf("%s is back; %d objects before, %d now", name, len(before), len(after))
}

// objects are the recorded objects with their bytes.
func (c *cluster) objects() map[string]string {
	out := map[string]string{}
	_ = filepath.WalkDir(filepath.Join(c.data, "services", "s3"), func(p string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.Contains(p, "runs") && strings.HasSuffix(p, ".json") {
			raw, err := os.ReadFile(p)
			if err != nil {
				c.t.Error(err)
			}
			out[p] = string(raw)
		}
		return nil
	})
	return out
}
