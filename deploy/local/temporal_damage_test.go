package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
)

// stopped starts a server on a new file and stops it.
func stopped(t *testing.T, dir string) {
	t.Helper()

	p := launch(t, "temporal", "--dir", dir)
	if err := p.stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if code := p.exit(t); code != 0 {
		t.Fatalf("exit code %d, want 0\n%s", code, p.stderr.String())
	}
}

// damage overwrites the middle of a file.
func damage(t *testing.T, file string) {
	t.Helper()

	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	st, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}

	junk := make([]byte, st.Size()/2)
	for i := range junk {
		junk[i] = byte(i*7 + 3)
	}
	if _, err := f.WriteAt(junk, 4096); err != nil {
		t.Fatal(err)
	}
}

func TestADamagedDatabaseIsNamedAtTheStart(t *testing.T) {
	t.Parallel()

	dir := t.TempDir()
	stopped(t, dir)
	damage(t, filepath.Join(dir, "temporal.db"))
	p := spawn(t, serviceArgs(t, "temporal", []string{"--dir", dir})...)
	code, output := p.exit(t), p.stderr.String()
	if code != exitData || !strings.Contains(output, "move the file away") || strings.Count(output, "\n") != 1 {
		t.Fatalf("exit code %d, want %d; said %q, want in one line what to do", code, exitData, output)
	}
}

func TestADatabaseThatIsDamagedWhileItRunsEndsTheServer(t *testing.T) {
	t.Parallel()

	dir, addr := t.TempDir(), freeAddress(t)
	p := launch(t, "temporal", "--dir", dir, "--addr", addr)
	c := dial(t, addr)
	file := filepath.Join(dir, "temporal.db")
	if err := os.Truncate(file+"-wal", 0); err != nil {
		t.Fatal(err)
	}
	damage(t, file)
	ended := make(chan int, 1)
	go func() { ended <- p.exit(t) }()
	for n := range 200 {
		// It fails sooner or later, with any error.
		_, _ = c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
			ID: fmt.Sprint(n), TaskQueue: testQueue, WorkflowTaskTimeout: time.Second,
		}, waits)
		select {
		case code := <-ended:
			if output := p.stderr.String(); code != exitData || !strings.Contains(output, "move the file away") {
				t.Errorf("exit code %d, want %d; said %.2000q, want what to do", code, exitData, output)
			}
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
	t.Error("the server still runs on a damaged file, want its end")
}

func TestTheFileAloneIsTheDatabaseAfterAStop(t *testing.T) {
	t.Parallel()

	dir := t.TempDir()
	stopped(t, dir)
	if st, err := os.Stat(filepath.Join(dir, "temporal.db-wal")); err == nil && st.Size() > 0 {
		t.Errorf("the write-ahead log has %d bytes after a stop, want none", st.Size())
	}
}

// TestALargeDatabaseIsCheckedBesideTheServer matters because a start must not take as long as the check.
func TestALargeDatabaseIsCheckedBesideTheServer(t *testing.T) {
	usual := checkedBeforeStart
	t.Cleanup(func() { checkedBeforeStart = usual })
	dir := t.TempDir()
	stopped(t, dir)
	file := filepath.Join(dir, "temporal.db")
	checkedBeforeStart = 1

	var failures []error
	fail := func(err error) { failures = append(failures, err) }
	checkLater(t.Context(), file, fail)
	if len(failures) > 0 {
		t.Fatalf("got %v of a sound file, want nothing", failures)
	}
	damage(t, file)
	if err := ensureSchema(t.Context(), file); err != nil && strings.Contains(err.Error(), "is damaged") {
		t.Errorf("got %v before the start, want the check later", err)
	}
	checkLater(t.Context(), file, fail)
	if len(failures) != 1 || !strings.Contains(failures[0].Error(), "is damaged") {
		t.Errorf("got %v of a damaged file, want that it is damaged", failures)
	}
}
