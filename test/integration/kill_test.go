//go:build integration

package integration

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	once      sync.Once
	reference shown
)

// unbroken is a run that nothing disturbed; it is made once.
func unbroken(t *testing.T) shown {
	t.Helper()
	once.Do(func() {
		m := newMachine(t)
		m.must("train", m.spec)
		reference = m.finish()
		m.must("down")
	})
	if len(reference.Results) != 9 {
		t.Fatalf("the unbroken run has %d results", len(reference.Results))
	}
	return reference
}

func TestMain(m *testing.M) {
	if _, err := os.Stat(binary()); err != nil {
		panic("build first: make build")
	}
	os.Exit(m.Run())
}

// TestKill shows that a run ends with the digest of an unbroken one whatever is killed at any moment, and that no recorded call is made again.
func TestKill(t *testing.T) {
	t.Logf("unbroken digest %s", unbroken(t).FinalDigest)

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
		pids := browsers(m.service("worker").PID)
		if len(pids) == 0 {
			t.Fatal("no Chromium below the worker")
		}
		for _, pid := range pids {
			m.kill("Chromium", pid)
		}
		for _, name := range []string{"policy", "s3", "redis", "temporal", "worker"} {
			before := m.count("episodes/")
			m.kill(name, m.service(name).PID)
			if name == "temporal" { // it takes a while to be back
				m.eventually("services.json says why it is down", 20*time.Second, func() bool { return strings.Contains(m.service(name).Problem, "killed") })
			}
			m.eventually(name+" is back and episodes go on", 90*time.Second, func() bool {
				s, err := m.show()
				return m.service(name).Restarts > 0 && (m.count("episodes/") > before || err == nil && s.Status == "finished")
			})
		}
		same(t, m.finish())
		if p := m.service("temporal").Problem; p != "" {
			t.Errorf("temporal runs, and is said to be down: %s", p)
		}
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

// TestAPersonPausesResumesAndStops shows that a run can be steered, says so, and ends as if nobody had.
func TestAPersonPausesResumesAndStops(t *testing.T) {
	m := newMachine(t)
	m.must("train", m.spec, "--detach")
	m.eventually("epoch 1 rolls out", 2*time.Minute, func() bool { return m.count("epochs/0001/episodes") > 10 })
	m.must("pause", "kill", "--why", "lunch")
	if out, err := m.try("pause", "kill"); err == nil || !strings.Contains(out, "paused already") {
		t.Errorf("a second pause: %v %s", err, out)
	}
	if s, err := m.show(); err != nil || s.Status != "paused" {
		t.Errorf("%+v %v", s, err)
	}
	m.must("resume", "kill")
	m.eventually("epoch 1 is committed", 2*time.Minute, func() bool { s, err := m.show(); return err == nil && s.Epoch >= 1 })
	m.must("stop", "kill", "--why", "enough")
	m.eventually("it is stopped", 30*time.Second, func() bool {
		s, err := m.show()
		return err == nil && (s.Status == "stopped" || s.Status == "finished")
	})
	if out, err := m.try("pause", "nobody"); err == nil || !strings.Contains(out, "does not run") {
		t.Errorf("pause of a run that does not exist: %v %s", err, out)
	}
	m.must("train", m.spec)
	same(t, m.finish())
	changed := m.file("changed.yaml")
	if err := os.WriteFile(changed, []byte(strings.Replace(specification, "slots: 16", "slots: 17", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := m.try("train", changed); err == nil || !strings.Contains(out, "slots: the run has 16, the file says 17") {
		t.Errorf("another specification under the name: %v %s", err, out)
	}
}

func same(t *testing.T, s shown) {
	t.Helper()
	want := unbroken(t)
	if s.FinalDigest != want.FinalDigest {
		t.Errorf("final digest %s, unbroken %s", s.FinalDigest, want.FinalDigest)
	}
	if !reflect.DeepEqual(s.Results, want.Results) {
		t.Errorf("results %+v, unbroken %+v", s.Results, want.Results)
	}
}
