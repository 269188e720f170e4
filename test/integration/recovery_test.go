//go:build integration && recovery

package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// components are the components whose loss is measured.
var components = []string{"temporal", "s3", "redis", "policy", "worker", "chromium"}

const losses = 20

// aWhile is the time between two losses. A service that is lost again sooner is restarted with a pause.
const aWhile = 6 * time.Second

// The times within which 19 of 20 losses must be over.
const (
	afterKill   = 10 * time.Second
	afterFreeze = 30 * time.Second
)

// TestRecovery kills and freezes every component 20 times during rollouts with the real policy and Chromium, and
// measures the time until it is replaced and new episodes begin. Two trainings on this machine are disturbed
// concurrently, one by kills, one by freezes. `make recovery` runs it: it takes three quarters of an hour.
func TestRecovery(t *testing.T) {
	fmt.Printf("\n| component | loss | times | median | p95 |\n|---|---|---|---|---|\n")
	for _, how := range []struct {
		name   string
		signal syscall.Signal
		limit  time.Duration
	}{{"killed", syscall.SIGKILL, afterKill}, {"frozen", syscall.SIGSTOP, afterFreeze}} {
		t.Run(how.name, func(t *testing.T) {
			t.Parallel()
			more := strings.NewReplacer("slots: 16", "slots: 9000", "epochs: 2", "epochs: 1")
			m := newMachine(t, more.Replace(specification))
			m.must("train", m.spec, "--detach")
			m.rollsOut("0001", 20, 5*time.Minute)

			for _, c := range components {
				var took []time.Duration
				for range losses {
					took = append(took, m.recovery(c, how.signal))
				}
				slices.Sort(took)
				median, p95 := took[losses/2], took[losses*95/100-1]
				fmt.Printf("| %s | %s | %d | %.1f s | %.1f s |\n", c, how.name, losses, median.Seconds(), p95.Seconds())
				if p95 > how.limit {
					t.Errorf("%s %s: p95 is %v, want at most %v", c, how.name, p95, how.limit)
				}
			}
			m.must("stop", "kill")
			m.noCallTwiceAfter(losses)
			m.must("fsck")
		})
	}
}

// recovery takes a component away and returns the time until it is back and new episodes begin.
func (m *machine) recovery(component string, how syscall.Signal) time.Duration {
	m.t.Helper()
	was, pid := m.component(component)
	if err := syscall.Kill(pid, how); err != nil {
		m.t.Fatal(err)
	}
	began := time.Now()
	m.poll(component+" is replaced", 2*time.Minute, 50*time.Millisecond, func() bool {
		now, _ := m.component(component)

		return now != was && m.service(component).Problem == ""
	})
	slots := m.slots()
	m.poll("new episodes begin", 2*time.Minute, 50*time.Millisecond, func() bool { return m.slots() > slots })
	took := time.Since(began)
	time.Sleep(aWhile)

	return took
}

// component returns a value that changes when a component is replaced, and its process.
func (m *machine) component(name string) (identity string, pid int) {
	if name != "chromium" {
		s := m.service(name)

		return fmt.Sprint(s.Restarts), s.PID
	}
	all := browsers(m.service("worker").PID)
	if len(all) == 0 {
		return "none", 0
	}

	return fmt.Sprint(all[0].pid), all[0].pid
}

// slots returns the number of slots of the epoch that have begun.
func (m *machine) slots() int {
	folder := filepath.Join(m.data, "services", "s3", "*", "runs", "kill", "epochs", "0001", "episodes")
	found, err := filepath.Glob(folder)
	if err != nil || len(found) != 1 {
		return 0
	}
	all, err := os.ReadDir(found[0])
	if err != nil {
		return 0
	}

	return len(all)
}
