//go:build integration

package integration

import (
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestTheLossOfAMachineCostsNoCommittedWork runs rollouts, training and serving on three machines that share only
// Temporal, S3 and Redis. Each machine is lost for two minutes in the middle of its work: two by killing all their
// processes, the GPU machine by freezing it, so that it comes back as after a network partition. One is drained. All
// runs end with the same digest.
func TestTheLossOfAMachineCostsNoCommittedWork(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	digests := map[string]string{} // by the machine that was lost

	t.Cleanup(func() { allEqual(t, digests) })
	for name, lose := range map[string]func(*cluster){
		"nobody":  func(*cluster) {},
		"drained": drain,
		"rollout": func(c *cluster) {
			c.rollsOut("0001", 10, 3*time.Minute)
			c.lost("rollout", syscall.SIGKILL)
		},
		"gpu": func(c *cluster) {
			c.updates()
			c.lost("gpu", syscall.SIGSTOP)
		},
		"serve": func(c *cluster) {
			c.rollsOut("0002", 10, 5*time.Minute)
			c.lost("serve", syscall.SIGKILL)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			c.must("train", c.spec, "--detach")
			lose(c)
			s := c.sound(8 * time.Minute)
			mu.Lock()
			defer mu.Unlock()
			digests[name] = s.FinalDigest
		})
	}
}

// updates waits until the first agent's update has a checkpoint.
func (c *cluster) updates() {
	c.t.Helper()
	c.eventually("an update has a checkpoint", 4*time.Minute, func() bool {
		return c.count("agents/0/job-checkpoint") > 0
	})
}

// drain ends the GPU worker in the middle of an update, as a person would, and starts it again.
func drain(c *cluster) {
	c.updates()
	h := c.hosts["gpu"]
	h.signal(syscall.SIGTERM)
	start := time.Now()
	if err := h.procs[0].Wait(); err != nil {
		c.t.Errorf("the drained worker ended with %v, want no error", err)
	}

	c.t.Logf("the GPU worker ended %v after SIGTERM", time.Since(start).Round(time.Second))

	training := slices.DeleteFunc(c.alive(), func(s string) bool { return !strings.Contains(s, "standin train") })
	if len(training) > 0 {
		c.t.Errorf("after the worker's end %v still runs, want nothing to train", training)
	}

	h.up()
}

// lost takes a machine away for lossTime. It checks that work that needs the machine waits, and that no recorded object
// changes meanwhile.
func (c *cluster) lost(name string, how syscall.Signal) {
	c.t.Helper()
	h := c.hosts[name]
	before := c.contents()
	h.signal(how)
	c.t.Logf("%s is lost", name)
	time.Sleep(lossTime)
	if s, err := c.show(); err != nil || s.Status != "running" {
		c.t.Errorf("without %s: status %q, error %v; want \"running\"", name, s.Status, err)
	}

	if how == syscall.SIGSTOP {
		h.signal(syscall.SIGCONT)
	} else {
		h.up()
	}

	after := c.contents()
	for path, want := range before {
		if got := after[path]; got != want {
			c.t.Errorf("%s changed to %d bytes, want the %d bytes recorded before", path, len(got), len(want))
		}
	}

	c.t.Logf("%s is back; %d objects before, %d now", name, len(before), len(after))
}

// contents returns the recorded objects of runs with their bytes.
func (c *cluster) contents() map[string]string {
	c.t.Helper()
	out := map[string]string{}
	for _, p := range c.objects("runs") {
		raw, err := os.ReadFile(p)
		if err != nil {
			c.t.Error(err)
		}
		out[p] = string(raw)
	}

	return out
}
