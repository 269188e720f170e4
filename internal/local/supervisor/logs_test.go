package supervisor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestALogIsSetAsideBeforeItFillsTheDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "worker.log")
	log, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	read := func(path string) string {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}

		return string(raw)
	}

	for _, line := range []string{"one\n", "two\n", "three\n"} {
		if _, err := log.WriteString(line); err != nil {
			t.Fatal(err)
		}
		if err := trim(path, 6); err != nil {
			t.Fatal(err)
		}
	}

	if got, old := read(path), read(path+".old"); got != "three\n" || old != "one\ntwo\n" {
		t.Errorf("the log has %q, and %q were set aside; want three, and one and two", got, old)
	}
}

// TestALogThatCannotBeSetAsideIsKept matters because on a full disk, the logs show why services end.
func TestALogThatCannotBeSetAsideIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "worker.log")
	if err := os.WriteFile(path, []byte("why it ended"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(path+".old", "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := trim(path, 6); err == nil {
		t.Error("trim = nil, want an error")
	}
	if raw, err := os.ReadFile(path); err != nil || string(raw) != "why it ended" {
		t.Errorf("the log has %q, %v; want it kept", raw, err)
	}
}

func TestOnlyTheEndOfALongLogIsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "worker.log")
	if err := os.WriteFile(path, []byte(strings.Repeat("a line\n", newest)+"the last"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, want := tail(path), "\n  a line\n  a line\n  the last"; got != want {
		t.Errorf("tail() = %q, want %q", got, want)
	}
}
