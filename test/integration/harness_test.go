//go:build integration

// Package integration runs the real binaries: Temporal, S3, Redis, Chromium, policy server, worker and supervisor, and kills them.
package integration

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/process/supervisor"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
)

// specification is small but has all parts: stage 1, two epochs, evaluation, pages in Chromium.
const specification = `name: kill
epochs: 2
slots: 16
rounds: 2
finetune: {demonstrations: 80, chunk_steps: 30, max_chunks: 3, stop_low: 0.1}
pairs: {kind: +correction, min_pairs: 8}
train: {batch_size: 4, passes: 3}
evaluation: {val: 10, test_seeds: 6, test_templates: 6}
`

// machine is one data folder with everything that runs for it.
type machine struct {
	t    *testing.T
	data string
	spec string
	env  []string
	end  func() // of the service that was started last by outside
}

func newMachine(t *testing.T, env ...string) *machine {
	t.Helper()
	m := &machine{t: t, data: filepath.Join(t.TempDir(), "data"), env: env}
	m.spec = filepath.Join(filepath.Dir(m.data), "kill.yaml")
	if err := os.WriteFile(m.spec, []byte(specification), 0o644); err != nil {
		t.Fatal(err)
	}
	m.env = append(m.env, "COLLABUI_CALL_LOG="+m.file("calls.log"))
	t.Cleanup(func() {
		if t.Failed() {
			out, _ := m.try("logs", "--lines", "15")
			t.Logf("logs:\n%s", out)
		}
		_, _ = m.try("down")
	})
	return m
}

func (m *machine) file(name string) string { return filepath.Join(filepath.Dir(m.data), name) }

func binary() string {
	p, err := filepath.Abs("../../bin/collabui")
	if err != nil {
		panic(err)
	}
	return p
}

// try runs a command line of collabui.
func (m *machine) try(args ...string) (string, error) {
	cmd := exec.Command(binary(), append(args, "--data", m.data)...)
	cmd.Env = append(os.Environ(), m.env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

func (m *machine) must(args ...string) string {
	m.t.Helper()
	out, err := m.try(args...)
	if err != nil {
		m.t.Fatalf("collabui %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// shown is what tests read of `show --json`.
type shown struct {
	Status, Stage, FinalDigest string
	Epoch                      int
	Results                    []runs.Result
}

func (m *machine) show() (shown, error) {
	out, err := m.try("show", "kill", "--json")
	var s struct {
		Status      string        `json:"status"`
		Stage       string        `json:"stage"`
		Epoch       int           `json:"epoch"`
		FinalDigest string        `json:"final_digest"`
		Results     []runs.Result `json:"results"`
	}
	if err == nil {
		err = json.Unmarshal([]byte(out), &s)
	}
	return shown{s.Status, s.Stage, s.FinalDigest, s.Epoch, s.Results}, err
}

// eventually waits for a condition.
func (m *machine) eventually(what string, limit time.Duration, ok func() bool) {
	m.t.Helper()
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if ok() {
			return
		}
	}
	m.t.Fatalf("not within %v: %s", limit, what)
}

// finish waits until the run is finished, and checks the store, the calls and the histories.
func (m *machine) finish() shown {
	m.t.Helper()
	s := m.settle()
	m.noCallTwice()
	return s
}

// settle is finish for a store that need not be in this machine's folder.
func (m *machine) settle() shown {
	m.t.Helper()
	var s shown
	m.eventually("the run ends", 5*time.Minute, func() bool {
		var err error
		s, err = m.show()
		return err == nil && s.Status == "finished"
	})
	if out, err := m.try("fsck"); err != nil {
		m.t.Errorf("fsck: %v\n%s", err, out)
	}
	m.replayHistories()
	return s
}

func (m *machine) service(name string) supervisor.Service {
	st, _ := supervisor.Read(m.data)
	return st.Services[name]
}

// kill ends a process of this machine at once.
func (m *machine) kill(name string, pid int) {
	m.t.Helper()
	if pid < 2 {
		m.t.Fatalf("no process %s", name)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		m.t.Fatalf("kill %s (%d): %v", name, pid, err)
	}
	m.t.Logf("killed %s", name)
}

// browsers are the Chromium processes below a process.
func browsers(parent int) []int {
	var out []int
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		at := bytes.LastIndexByte(raw, ')')
		fields := strings.Fields(string(raw[at+1:]))
		if ppid, _ := strconv.Atoi(fields[1]); ppid == parent && bytes.Contains(raw[:at], []byte("chrom")) {
			pid, _ := strconv.Atoi(strings.Fields(string(raw))[0])
			out = append(out, pid)
		}
	}
	return out
}

// count counts objects of the run whose path has a part, in the files below the S3 server.
func (m *machine) count(part string) int {
	n := 0
	_ = filepath.WalkDir(filepath.Join(m.data, "services", "s3"), func(p string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.Contains(p, part) && strings.HasSuffix(p, ".json") {
			n++
		}
		return nil
	})
	return n
}

// noCallTwice checks that no model call was made after its answer was recorded: against the policy server's own log of calls.
func (m *machine) noCallTwice() {
	const clockStep = 20 * time.Millisecond // file times lag behind the clock by up to a kernel tick
	m.t.Helper()
	asked := map[uint64][]int64{} // seed of a call → when it was asked, in order
	f, err := os.Open(m.file("calls.log"))
	if err != nil {
		m.t.Fatal(err)
	}
	defer f.Close()
	lines := 0
	for sc := bufio.NewScanner(f); sc.Scan(); lines++ {
		var at int64
		var seed uint64
		if _, err := fmt.Sscan(sc.Text(), &at, &seed); err == nil {
			asked[seed] = append(asked[seed], at)
		}
	}
	checked, again := 0, 0
	check := func(seed uint64, recorded time.Time) {
		at := asked[seed&(1<<53-1)]
		if len(at) == 0 {
			m.t.Errorf("a recorded call was never asked")
		} else if late := time.Unix(0, slices.Max(at)).Sub(recorded); len(at) > 1 && late > clockStep {
			m.t.Logf("asked %d times over %v, the last time %v after it was recorded", len(at), time.Duration(slices.Max(at)-slices.Min(at)), late)
			again++
		}
		checked++
	}
	_ = filepath.WalkDir(filepath.Join(m.data, "services", "s3"), func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.Contains(p, "/episodes/") {
			return nil
		}
		info, _ := d.Info()
		raw, _ := os.ReadFile(p)
		switch {
		case strings.Contains(p, "/steps/"):
			slot, number := m.slotOf(p)
			var st runs.Step
			unseal(m.t, p, raw, &st)
			for _, c := range st.Decision.Cells {
				check(domain.Seed(domain.Seed(slot.Seed, "step", number), "cell", c.Agent, c.Round), info.ModTime())
			}
		case strings.HasSuffix(p, "/pairs.json"):
			var ps runs.Pairs
			unseal(m.t, p, raw, &ps)
			for _, c := range ps.Calls {
				check(c.Seed, info.ModTime())
			}
		}
		return nil
	})
	if again > 0 || checked == 0 {
		m.t.Errorf("%d of %d recorded calls were made again", again, checked)
	}
	m.t.Logf("%d recorded calls, %d made again; %d requests in all", checked, again, lines)
}

// slotOf reads the claim of the attempt that a step belongs to.
func (m *machine) slotOf(step string) (domain.Slot, int) {
	start := filepath.Join(filepath.Dir(filepath.Dir(step)), "start.json")
	raw, err := os.ReadFile(start)
	if err != nil {
		m.t.Fatal(err)
	}
	var s runs.Start
	unseal(m.t, start, raw, &s)
	n, _ := strconv.Atoi(strings.TrimSuffix(filepath.Base(step), ".json"))
	return s.Slot, n
}

func unseal(t *testing.T, key string, raw []byte, v any) {
	t.Helper()
	body, err := store.Unseal(key, raw)
	if err == nil {
		err = json.Unmarshal(body, v)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func supervisorPID(m *machine) int {
	st, _ := supervisor.Read(m.data)
	return st.PID
}

// alive lists the processes whose environment or command line names this machine's folder.
func (m *machine) alive() []string {
	var out []string
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, f := range files {
		dir := filepath.Dir(f)
		env, err := os.ReadFile(f)
		cmd, err2 := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err != nil || err2 != nil || len(cmd) == 0 {
			continue
		}
		if bytes.Contains(env, []byte(m.file("calls.log"))) || bytes.Contains(cmd, []byte(m.data)) {
			out = append(out, strings.ReplaceAll(string(cmd[:min(len(cmd), 80)]), "\x00", " "))
		}
	}
	return out
}
