package main

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store"
)

func TestEveryErrorHasItsExitCode(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{fault.New(fault.Invalid, "x"), exitInvalid}, {fault.New(fault.Transient, "x: %w", errors.New("y")), exitService}, {fmt.Errorf("run: %w", store.ErrNotFound), exitNotFound},
		{fault.New(fault.Corrupt, "x"), exitCorrupt}, {fault.New(fault.Fatal, "x"), exitFatal}, {fmt.Errorf("a: %w", errStopped), exitStopped}, {fmt.Errorf("a: %w", errFailed), exitFailed},
		{errors.New("unknown flag: --x"), exitInvalid},
	} {
		if got := exitCode(c.err); got != c.want {
			t.Errorf("%v: %d, want %d", c.err, got, c.want)
		}
	}
}

func TestCommandLines(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.yaml")
	if err := os.WriteFile(bad, []byte("name: x\nslotz: 3\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(t.TempDir(), "none")
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"train", "../../examples/quickstart.yaml", "--check"}, exitOK, "name: quickstart\n"},
		{[]string{"train", "../../examples/quickstart.yaml", "--check", "--json"}, exitOK, `"name":"quickstart"`},
		{[]string{"train", bad, "--check"}, exitInvalid, `bad.yaml:2:1: slotz: unknown key; did you mean "slots"?`},
		{[]string{"train", "missing.yaml"}, exitInvalid, "no such file"},
		{[]string{"show", "x", "--data", data}, exitService, "up --data"},
		{[]string{"frobnicate"}, exitInvalid, "unknown command"},
		{[]string{"down", "--data", data}, exitOK, "nothing was running"},
		{[]string{"down", "--purge", "--data", filepath.Dir(bad)}, exitInvalid, "is no data folder of collabui: nothing is deleted"},
		{[]string{"up", "--tabs", "0", "--data", data}, exitInvalid, "--tabs must be from 1 to 64"},
		{[]string{"worker", "--updates", "-1", "--data", data}, exitInvalid, "--updates must be from 1 to 64"},
		{[]string{"logs", "--lines", "-1", "--data", data}, exitInvalid, "--lines must be from 0"},
		{[]string{"eval", "x", "--split", "train", "--data", data}, exitInvalid, "--split must not be train"},
		{[]string{"set", "x", "--data", data}, exitInvalid, "at least 2 arg"},
		{[]string{"envs", "list"}, exitOK, "train 34"},
		{[]string{"help"}, exitOK, "Exit codes"},
	} {
		var out, errw bytes.Buffer
		if code := run(c.args, &out, &errw); code != c.code || !strings.Contains(out.String()+errw.String(), c.says) {
			t.Errorf("%v: %d, %s%s; want %d and %q", c.args, code, out.String(), errw.String(), c.code, c.says)
		}
	}
}

func TestEveryCommandHasAnExample(t *testing.T) {
	var out bytes.Buffer
	for _, n := range []string{"train", "runs", "watch", "show", "logs", "pause", "resume", "stop", "eval", "reproduce", "fsck", "up", "down", "worker", "policy-server", "doctor", "set"} {
		out.Reset()
		if run([]string{n, "--help"}, &out, &out) != exitOK || !strings.Contains(out.String(), "Examples:") || !strings.Contains(out.String(), "Exit codes") {
			t.Errorf("%s --help: %s", n, out.String())
		}
	}
}

func TestDifferencesOfSpecificationsAreNamed(t *testing.T) {
	a := spec.Default()
	b := a
	b.Train.Ftx = 0.7
	if d := difference(a, b); d != "  train.ftx: the run has 0.1, the file says 0.7\n" {
		t.Error(d)
	}
	if difference(a, a) != "" {
		t.Error("equal specifications differ")
	}
}

func TestIntervals(t *testing.T) {
	m, lo, hi := tInterval([]float64{1, 2, 3, 4, 5, 6}) // R: t.test(1:6) gives 3.5, 1.536686, 5.463314
	if math.Abs(m-3.5)+math.Abs(lo-1.536686)+math.Abs(hi-5.463314) > 1e-3 {
		t.Error(m, lo, hi)
	}
}
