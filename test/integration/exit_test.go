//go:build integration

package integration

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// exits runs commands, and checks their exit codes and that failing commands print a reason.
func (m *machine) exits(when string, want map[string]int) {
	m.t.Helper()
	for line, code := range want {
		began := time.Now()
		out, err := m.try(strings.Fields(line)...)
		got := 0
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			got = exit.ExitCode()
		}
		if got != code {
			m.t.Errorf("%s, collabui %s exits with %d, want %d\n%s", when, line, got, code, out)
		}
		if code != 0 && !strings.Contains(out, "collabui: ") {
			m.t.Errorf("%s, collabui %s printed %q, want the reason", when, line, out)
		}
		if took := time.Since(began); took > time.Minute {
			m.t.Errorf("%s, collabui %s took %v, want less than a minute", when, line, took)
		}
	}
}

// TestExitCodes runs the commands on a run in every state, because scripts rely on the codes that --help documents.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	m := newMachine(t, specification)
	m.exits("before anything runs", map[string]int{
		"show kill": 3, "runs": 3, "watch kill": 3, "stop kill": 3, "fsck": 3,
		"doctor": 0, // the machine is fine
		"show":   2, "nosuch": 2, "train nosuch.yaml": 2, "set kill": 2, "down": 0, "version": 0,
	})

	m.must("up")
	m.exits("without a run", map[string]int{
		"show kill": 4, "watch kill": 4, "pause kill": 4, "resume kill": 4, "stop kill": 4, "set kill window=2": 4,
		"show kill 1/1": 4, "fsck kill": 4, "delete kill --why x": 4, "show kill stage-1": 4,
		"fork kill --epoch 1 --name other": 4, "export kill --out x": 4, "eval kill --split val": 4,
		"infer kill": 4, "show kill critic": 4,
		"runs": 0, "fsck": 0, "gc": 0, "doctor": 0,
	})

	m.must("train", m.spec, "--detach")
	m.rollsOut("0001", 1, 2*time.Minute)
	m.exits("while it runs", map[string]int{
		"show kill": 0, "runs": 0, "set kill nosuch=1": 2, "set kill seed=2": 2, "delete kill --why x": 2,
		"show kill 9/1": 4, "fork kill --epoch 1 --name other": 2,
	})
	m.exits("while it is stopped", map[string]int{"stop kill": 0})
	m.exits("while it stops", map[string]int{"watch kill": 6}) // when it has stopped
	m.exits("after its stop", map[string]int{"show kill": 0, "pause kill": 4, "stop kill": 4})

	m.must("train", m.spec)
	m.exits("after its end", map[string]int{
		"show kill": 0, "watch kill": 0, "train " + m.spec: 0, "pause kill": 2, "resume kill": 2, "stop kill": 2,
		"set kill window=2": 2, "show kill 1/1": 0, "show kill 1/999": 4, "fsck kill": 0,
		"fork kill --epoch 99 --name other": 2, "show kill stage-1": 0,
	})

	m.must("down")
	m.exits("when nothing runs any more", map[string]int{
		"show kill": 0, "show kill 1/1": 0, "show kill critic": 0, "runs": 0, "line show": 0, "schedule show": 0,
		"watch kill": 0, "fsck kill": 0, "gc --dry-run": 0, "pause kill": 3, "gc": 3, "down": 0,
		"fork kill --epoch 0 --name other --plan": 0,
	})

	m.must("up")
	damaged := filepath.Join(m.data, "services", "s3", "collabui", "runs", "kill", "end.json")
	if err := os.WriteFile(damaged, []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	m.exits("with a damaged object", map[string]int{"show kill": 5, "watch kill": 5, "fsck kill": 7, "fsck": 7})
}
