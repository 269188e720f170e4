//go:build integration

package integration

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// unbroken is the digest of a run that nothing disturbed; it is made once.
var unbroken = sync.OnceValue(func() string { return reference.FinalDigest })

var reference shown

func TestMain(m *testing.M) {
	if _, err := os.Stat(binary()); err != nil {
		panic("build first: make build")
	}
	os.Exit(m.Run())
}

// TestKill shows that a run ends with the digest of an unbroken one whatever is killed at any moment, and that no recorded call is made again.
func TestKill(t *testing.T) {
	calm := newMachine(t)
	calm.must("train", calm.spec)
	reference = calm.finish()
	if len(reference.Results) != 9 {
		t.Fatalf("%d results", len(reference.Results))
	}
	t.Logf("unbroken digest %s", unbroken())
	calm.must("down")

	t.Run("in the middle of every activity", func(t *testing.T) {
		t.Parallel()
		points := []string{"rollout@9", "credit@7", "pairing@25", "update@6", "commit@1"}
		var setting []string
		m := newMachine(t)
		for _, p := range points {
			setting = append(setting, p+":"+m.file(strings.ReplaceAll(p, "@", "-")))
		}
		m.env = append(m.env, "COLLABUI_FAILPOINT="+strings.Join(setting, ","))
		m.must("train", m.spec, "--detach")
		same(t, m.finish())
		for _, p := range points {
			if _, err := os.Stat(m.file(strings.ReplaceAll(p, "@", "-"))); err != nil {
				t.Errorf("nobody died at %s", p)
			}
		}
		if n := m.service("worker").Restarts; n < len(points) {
			t.Errorf("the worker was started again %d times", n)
		}
	})
	t.Run("every process, one after the other", func(t *testing.T) {
		t.Parallel()
		m := newMachine(t)
		m.must("train", m.spec, "--detach")
		m.eventually("epoch 1 rolls out", 2*time.Minute, func() bool { return m.count("epochs/0001/episodes") > 20 })
		for _, pid := range browsers(m.service("worker").PID) {
			m.kill("Chromium", pid)
		}
		for _, name := range []string{"policy", "s3", "redis", "temporal", "worker"} {
			before := m.count("episodes/")
			m.kill(name, m.service(name).PID)
			m.eventually(name+" is back and episodes go on", 90*time.Second, func() bool {
				s, err := m.show()
				return m.service(name).Restarts > 0 && (m.count("episodes/") > before || err == nil && s.Status == "finished")
			})
		}
		same(t, m.finish())
	})
	t.Run("the supervisor, and then Temporal's data", func(t *testing.T) {
		t.Parallel()
		m := newMachine(t)
		m.must("train", m.spec, "--detach")
		m.eventually("epoch 1 rolls out", 2*time.Minute, func() bool { return m.count("epochs/0001/episodes") > 30 })
		m.kill("supervisor", supervisorPID(m))
		m.eventually("nobody outlives it", 20*time.Second, func() bool { return len(m.alive()) == 0 })
		m.must("train", m.spec, "--detach")
		m.eventually("epoch 1 is committed", 2*time.Minute, func() bool { s, err := m.show(); return err == nil && s.Epoch >= 1 })
		m.must("down")
		files, err := filepath.Glob(filepath.Join(m.data, "services", "temporal.db*"))
		if err != nil || len(files) == 0 {
			t.Fatal("no Temporal data", err)
		}
		for _, f := range files {
			if err := os.Remove(f); err != nil {
				t.Fatal(err)
			}
		}
		m.must("train", m.spec)
		same(t, m.finish())
	})
}

func same(t *testing.T, s shown) {
	t.Helper()
	if s.FinalDigest != unbroken() {
		t.Errorf("final digest %s, unbroken %s", s.FinalDigest, unbroken())
	}
	for i, r := range s.Results {
		if r != reference.Results[i] {
			t.Errorf("result %+v, unbroken %+v", r, reference.Results[i])
		}
	}
}
