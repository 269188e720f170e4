//go:build integration

// Package integration runs the real binaries and kills them: Temporal, S3, Redis, Chromium, policy server, worker and
// supervisor.
//
// Most tests wait for services, timeouts and lost machines more than they compute. They run concurrently; tests that
// measure time, memory or every browser of this process run alone before them.
package integration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/collabui/collabui/internal/local/supervisor"
	"github.com/collabui/collabui/internal/records/runs"
)

// specification is small but has all parts: stage 1, two epochs, evaluation, pages in Chromium.
const specification = `name: kill
epochs: 2
slots: 16
rounds: 2
finetune: {demonstrations: 80, chunk_steps: 30, max_chunks: 3, stop_low: 0.1}
pairs: {kind: +correction, min_pairs: 8}
train: {batch_size: 4, passes: 3}
evaluation: {val: 10, test_seeds: 3, test_templates: 3, test_apps: 0}
`

func TestMain(m *testing.M) {
	if _, err := os.Stat(binary("collabui")); err != nil {
		panic("build first: make build")
	}

	os.Exit(m.Run())
}

// binary returns the path of one of our programs.
func binary(name string) string {
	p, err := filepath.Abs(filepath.Join("../../bin", name))
	if err != nil {
		panic(err)
	}

	return p
}

// machine is one data folder with all processes that run for it.
type machine struct {
	t    *testing.T
	data string
	spec string
	env  []string

	payloadKeys string // keys of encrypted payloads
}

// newMachine returns a folder with a specification, for which nothing runs yet. Processes that are started later end
// with the test.
func newMachine(t *testing.T, specification string) *machine {
	t.Helper()
	m := &machine{t: t, data: filepath.Join(t.TempDir(), "data")}
	m.spec = m.write("kill.yaml", specification)
	m.env = append(m.env, "COLLABUI_CALL_LOG="+m.file("calls.log"))

	t.Cleanup(func() {
		if t.Failed() {
			m.printLogs()
		}
		_, _ = m.try("down")
	})

	return m
}

// printLogs prints the ends of the services' logs.
func (m *machine) printLogs() {
	const most = 5000 // bytes
	files, _ := filepath.Glob(filepath.Join(m.data, "logs", "*.log"))
	for _, file := range files {
		raw, _ := os.ReadFile(file)
		m.t.Logf("%s:\n%s", file, raw[max(0, len(raw)-most):])
	}
}

// file returns the path of a file of this machine outside the data folder.
func (m *machine) file(name string) string { return filepath.Join(filepath.Dir(m.data), name) }

func (m *machine) write(name, text string) string {
	m.t.Helper()
	if err := os.WriteFile(m.file(name), []byte(text), 0o644); err != nil {
		m.t.Fatal(err)
	}

	return m.file(name)
}

// try runs a command of collabui and returns what it printed.
func (m *machine) try(args ...string) (string, error) {
	cmd := exec.Command(binary("collabui"), append(args, "--data", m.data)...)
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
		m.t.Fatalf("collabui %s: %v, want success\n%s", strings.Join(args, " "), err, out)
	}

	return out
}

// says runs a command that must succeed and print all texts.
func (m *machine) says(texts []string, args ...string) {
	m.t.Helper()
	m.contains(m.must(args...), nil, texts, args)
}

// refuses checks that a command fails and prints the reason why.
func (m *machine) refuses(why string, args ...string) {
	m.t.Helper()
	out, err := m.try(args...)
	if err == nil {
		m.t.Errorf("collabui %s succeeded, want an error", strings.Join(args, " "))
	}
	m.contains(out, err, []string{why}, args)
}

func (m *machine) contains(out string, err error, texts, args []string) {
	m.t.Helper()
	for _, want := range texts {
		if !strings.Contains(out, want) {
			m.t.Errorf("collabui %s printed (%v)\n%s\nwant it to contain %q", strings.Join(args, " "), err, out, want)
		}
	}
}

// shown is the part of `show --json` that tests read.
type shown struct {
	Status      string        `json:"status"`
	Epoch       int           `json:"epoch"`
	FinalDigest string        `json:"final_digest"`
	Results     []runs.Result `json:"results"`
}

func (m *machine) show() (shown, error) {
	var s shown
	out, err := m.try("show", "kill", "--json")
	if err == nil {
		err = json.Unmarshal([]byte(out), &s)
	}

	return s, err
}

// eventually waits for a condition that is cheap to check.
func (m *machine) eventually(what string, limit time.Duration, ok func() bool) {
	m.t.Helper()
	m.poll(what, limit, 100*time.Millisecond, ok)
}

// reaches waits until the run shows a state, and returns the status. It checks less often than eventually, because
// every look starts a process.
func (m *machine) reaches(what string, limit time.Duration, ok func(shown) bool) shown {
	m.t.Helper()
	var s shown
	m.poll(what, limit, 500*time.Millisecond, func() bool {
		var err error
		s, err = m.show()

		return err == nil && ok(s)
	})

	return s
}

func (m *machine) poll(what string, limit, pause time.Duration, ok func() bool) {
	m.t.Helper()
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(pause) {
		if ok() {
			return
		}
	}
	m.t.Fatalf("not within %v; want: %s", limit, what)
}

func (m *machine) committed(epoch int, limit time.Duration) {
	m.t.Helper()
	m.reaches(fmt.Sprintf("epoch %d is committed", epoch), limit, func(s shown) bool { return s.Epoch >= epoch })
}

func (s shown) finished() bool { return s.Status == "finished" }

// finish waits until the run is finished, and checks the store, the calls and the histories.
func (m *machine) finish() shown {
	m.t.Helper()
	s := m.settle()
	m.noCallTwice()

	return s
}

// settle is finish for a store that may be outside of this machine's folder. It does not check calls.
func (m *machine) settle() shown {
	m.t.Helper()
	s := m.sound(5 * time.Minute)
	m.replayHistories()

	return s
}

// sound waits until the run is finished and checks its store.
func (m *machine) sound(limit time.Duration) shown {
	m.t.Helper()
	s := m.reaches("the run is finished", limit, shown.finished)
	if out, err := m.try("fsck"); err != nil {
		m.t.Errorf("fsck: %v, want no finding\n%s", err, out)
	}

	return s
}

func (m *machine) service(name string) supervisor.Service {
	st, _ := supervisor.Read(m.data)

	return st.Services[name]
}

// kill ends a process of this machine with SIGKILL.
func (m *machine) kill(name string, pid int) {
	m.t.Helper()
	if pid < 2 {
		m.t.Fatalf("process id of %s = %d, want that of a running process", name, pid)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		m.t.Fatalf("kill %s (%d): %v, want success", name, pid, err)
	}
	m.t.Logf("killed %s", name)
}

// objects returns the paths of the JSON objects whose path contains part, below the folder of the S3 server.
func (m *machine) objects(part string) []string {
	var out []string
	_ = filepath.WalkDir(filepath.Join(m.data, "services", "s3"), func(p string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.Contains(p, part) && strings.HasSuffix(p, ".json") {
			out = append(out, p)
		}

		return nil
	})

	return out
}

func (m *machine) count(part string) int { return len(m.objects(part)) }

// rollsOut waits until an epoch has recorded more than a number of objects of its episodes.
func (m *machine) rollsOut(epoch string, more int, limit time.Duration) {
	m.t.Helper()
	m.eventually("epoch "+epoch+" rolls out", limit, func() bool {
		return m.count("epochs/"+epoch+"/episodes") > more
	})
}
