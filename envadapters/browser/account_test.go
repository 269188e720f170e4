package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/collabui/collabui/fault"
)

// TestABrowserIsUnprivilegedAndInItsSandbox expects that even a worker of root starts the browser as the user nobody,
// that its pages' processes filter system calls, and that closing it removes its profile.
func TestABrowserIsUnprivilegedAndInItsSandbox(t *testing.T) {
	if _, err := Find(); err != nil {
		t.Skip(err)
	}
	who, err := accountOf()
	if err != nil {
		t.Fatal(err)
	}
	if !who.sandbox {
		t.Skip("this machine gives unprivileged users no namespaces, so Chromium has no sandbox here")
	}
	tmp, err := os.MkdirTemp("/tmp", "sandbox-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(tmp) })
	t.Setenv("TMPDIR", tmp)
	pool := NewPool("", 1, 1)
	defer pool.Close()
	b := pool.browsers[0]
	tab, err := b.Blank(t.Context(), View{Width: 100, Height: 100})
	if err != nil {
		t.Fatal(err)
	}
	defer tab.Close()

	if os.Geteuid() == 0 && strings.HasPrefix(field(t, b.Pid(), "Uid:"), "0") {
		t.Error("the browser runs as root, want it to run as nobody")
	}
	renderers := 0
	for _, pid := range children(t, b.Pid()) {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil || !strings.Contains(string(line), "--type=renderer") {
			continue
		}
		renderers++
		if got := field(t, pid, "Seccomp:"); got != "2" {
			t.Errorf("a page process has the seccomp mode %s, want 2, a filter: %q", got, line)
		}
	}
	if renderers == 0 {
		t.Error("got no process of a page, want at least one")
	}

	tab.Close()
	pool.Close()
	if left, err := filepath.Glob(filepath.Join(os.TempDir(), "*")); err != nil || len(left) > 0 {
		t.Errorf("got the temporary files %v and error %v, want none", left, err)
	}
}

// field returns a field of a process's status file.
func field(t *testing.T, pid int, name string) string {
	t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(raw), "\n"+name)
	line, _, _ := strings.Cut(rest, "\n")

	return strings.TrimSpace(line)
}

// children returns all descendants of a process.
func children(t *testing.T, of int) []int {
	t.Helper()
	var out []int
	all, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	parents := map[int]int{}
	for _, file := range all {
		raw, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		var pid, parent int
		var state string
		head, tail, _ := strings.Cut(string(raw), " (")
		tail = tail[strings.LastIndexByte(tail, ')')+1:]
		if _, err := fmt.Sscan(head+" "+tail, &pid, &state, &parent); err == nil {
			parents[pid] = parent
		}
	}
	for pid := range parents {
		for p := pid; p > 1; p = parents[p] {
			if parents[p] == of {
				out = append(out, pid)
				break
			}
		}
	}

	return out
}

// TestRootStartsNoBrowser expects an error where only root can run the browser, because its pages would have the rights
// of root.
func TestRootStartsNoBrowser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can start a browser as another account")
	}
	dir, err := os.MkdirTemp("/tmp", "private-*") // a folder that the user nobody cannot enter
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "chromium")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	who, err := accountFor(path)
	if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), path) {
		t.Errorf("accountFor(%s) = %+v, %v; want an invalid fault that names it", path, who, err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if who, err = accountFor(path); err != nil || who.credential == nil || who.credential.Uid == 0 {
		t.Errorf("accountFor(%s) = %+v, %v; want another account than root", path, who, err)
	}
}
