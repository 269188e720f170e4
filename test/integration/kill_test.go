//go:build integration

package integration

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/collabui/collabui/internal/records/runs"
)

var (
	once      sync.Once
	reference shown
)

// unbroken returns the end of an undisturbed run. The first caller plays it; all others wait for it.
func unbroken(t *testing.T) shown {
	t.Helper()
	once.Do(func() {
		m := newMachine(t, specification)
		m.must("train", m.spec)
		reference = m.finish()
		m.must("down")
	})
	if len(reference.Results) != 9 {
		t.Fatalf("the unbroken run has %d results, want 9", len(reference.Results))
	}

	return reference
}

// same checks that a run ended in the same way as the unbroken one.
func same(t *testing.T, got shown) {
	t.Helper()
	want := unbroken(t)
	if got.FinalDigest != want.FinalDigest {
		t.Errorf("final digest = %s, want %s of the unbroken run", got.FinalDigest, want.FinalDigest)
	}
	if got, want := uncached(got.Results), uncached(want.Results); !reflect.DeepEqual(got, want) {
		t.Errorf("results = %+v, want those of the unbroken run: %+v", got, want)
	}
}

// uncached returns results without the numbers of cached tokens, which depend on when a server was started.
func uncached(results []runs.Result) []runs.Result {
	out := slices.Clone(results)
	for i := range out {
		out[i].Cost.Cached = 0
	}

	return out
}

// TestKill checks that a run ends with the digest of an unbroken one whichever process is killed, at any moment, and
// that no recorded call is made again.
func TestKill(t *testing.T) {
	t.Parallel()
	for name, play := range map[string]func(*testing.T){
		"nothing":                                  killNothing,
		"in the middle of every activity":          killActivities,
		"every process, one after the other":       killProcesses,
		"the supervisor, and then Temporal's data": killSupervisor,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t)
		})
	}
}

func killNothing(t *testing.T) { t.Logf("unbroken digest %s", unbroken(t).FinalDigest) }

// killActivities makes the worker kill itself inside activities, once in each kind.
func killActivities(t *testing.T) {
	points := []string{
		"put.epochs/episodes/steps@9=kill-after", "put.epochs/episodes/credit@7=kill",
		"put.epochs/episodes/pairs@5=kill", "put.epochs/agents/job-checkpoint@2=kill-after", "put.epochs/epoch@1=kill",
	}
	m := newMachine(t, specification)
	mark := func(point string) string { return m.file(strings.NewReplacer("/", "-", "@", "-").Replace(point)) }
	var setting []string
	for _, p := range points {
		setting = append(setting, p+":"+mark(p))
	}
	m.env = append(m.env, "COLLABUI_FAILPOINT="+strings.Join(setting, ","))

	m.must("train", m.spec, "--detach")
	same(t, m.finish())

	for _, p := range points {
		if _, err := os.Stat(mark(p)); err != nil {
			t.Errorf("at %s: %v, want the mark of a worker that died there", p, err)
		}
	}
	// Two failpoints can strike in one life of the worker, because a mark is made before the effect.
	if m.service("worker").Restarts == 0 {
		t.Error("the worker was never restarted, want it restarted after each death")
	}
}

// killProcesses kills every process of a data folder except the supervisor, each after the run has continued from the
// last kill. The command that started the run stays attached.
func killProcesses(t *testing.T) {
	m := newMachine(t, specification)
	train := m.attach("train", m.spec)
	m.rollsOut("0001", 20, 2*time.Minute)

	below := browsers(m.service("worker").PID)
	if len(below) == 0 {
		t.Fatal("no Chromium below the worker, want some")
	}
	for _, p := range below {
		m.kill("Chromium", p.pid)
	}
	for _, name := range []string{"policy", "s3", "redis", "temporal", "worker"} {
		m.killService(name)
	}
	train.ends(8*time.Minute, 0, "")
	same(t, m.finish())

	if p := m.service("temporal").Problem; p != "" {
		t.Errorf("problem of the running Temporal = %q, want none", p)
	}
}

// killService kills a service and waits until it is back and the run continues to play.
func (m *machine) killService(name string) {
	m.t.Helper()
	before := m.count("episodes/")
	m.kill(name, m.service(name).PID)
	if name == "temporal" { // it takes a while to be back
		m.eventually("services.json says why it is down", 20*time.Second, func() bool {
			return strings.Contains(m.service(name).Problem, "killed")
		})
	}

	m.eventually(name+" is back", 90*time.Second, func() bool { return m.service(name).Restarts > 0 })
	m.poll("episodes go on after "+name+" was killed", 90*time.Second, 300*time.Millisecond, func() bool {
		if m.count("episodes/") > before {
			return true
		}
		s, err := m.show()

		return err == nil && s.finished()
	})
}

// killSupervisor kills the supervisor, starts it again, and then damages the data of Temporal.
func killSupervisor(t *testing.T) {
	m := newMachine(t, specification)
	m.must("train", m.spec, "--detach")
	m.rollsOut("0001", 30, 2*time.Minute)
	m.kill("supervisor", m.supervisorPID())
	m.eventually("all its processes end", 20*time.Second, func() bool { return len(m.alive()) == 0 })

	m.must("train", m.spec, "--detach")
	m.committed(1, 2*time.Minute)
	m.must("down")
	file := filepath.Join(m.data, "services", "temporal.db")
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := len(raw) / 4; i < len(raw)/2; i++ {
		raw[i] ^= 0x55
	}
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	m.refuses("move the file away", "train", m.spec, "--detach")
	for _, part := range []string{"-wal", "-shm", ""} { // the run continues without any of them
		if err := os.Rename(file+part, file+part+".damaged"); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}

	m.must("train", m.spec)
	same(t, m.finish())
}
