//go:build integration

package integration

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/collabui/collabui/internal/local/supervisor"
)

// process is a process of this host.
type process struct {
	pid, parent int
	name        string
}

func (p process) isBrowser() bool { return strings.HasPrefix(p.name, "chrom") }

// processes lists the living processes of this host.
func processes() []process {
	var all []process
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, f := range stats {
		raw, err := os.ReadFile(f)
		if err != nil {
			continue // it has just ended
		}
		stat := string(raw)
		begin, end := strings.IndexByte(stat, '('), strings.LastIndexByte(stat, ')')
		fields := strings.Fields(stat[end+1:]) // state, parent, …
		if fields[0] == "Z" {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(f)))
		parent, _ := strconv.Atoi(fields[1])
		all = append(all, process{pid: pid, parent: parent, name: stat[begin+1 : end]})
	}

	return all
}

// descendants lists the living processes below a process.
func descendants(of int) []process {
	all, below, out := processes(), map[int]bool{of: true}, []process(nil)
	for grew := true; grew; {
		grew = false
		for _, p := range all {
			if below[p.parent] && !below[p.pid] {
				below[p.pid], grew = true, true
				out = append(out, p)
			}
		}
	}

	return out
}

// browsers lists the Chromium processes right below a process.
func browsers(parent int) []process {
	return slices.DeleteFunc(processes(), func(p process) bool { return p.parent != parent || !p.isBrowser() })
}

// memory returns the memory of this process and all below it, in MB. Pages that several share are divided among them.
func memory(t *testing.T) float64 {
	t.Helper()
	sum := 0
	for _, p := range append(descendants(os.Getpid()), process{pid: os.Getpid()}) {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", p.pid))
		if err != nil {
			continue // it has just ended
		}
		for l := range strings.Lines(string(raw)) {
			if f := strings.Fields(l); len(f) > 1 && f[0] == "Pss:" {
				kb, _ := strconv.Atoi(f[1])
				sum += kb
			}
		}
	}

	return float64(sum) / 1024
}

func (m *machine) supervisorPID() int {
	st, _ := supervisor.Read(m.data)

	return st.PID
}

// alive lists the command lines of the processes that have this machine's folder in their environment or arguments, and
// the supervisor while its lock is held: a killed process has no command line for a moment before its lock is released.
func (m *machine) alive() []string {
	var out []string
	if _, locked := supervisor.Read(m.data); locked {
		out = append(out, "supervisor")
	}
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, f := range files {
		env, err := os.ReadFile(f)
		cmd, err2 := os.ReadFile(filepath.Join(filepath.Dir(f), "cmdline"))
		if err != nil || err2 != nil || len(cmd) == 0 {
			continue
		}
		if bytes.Contains(env, []byte(m.file("calls.log"))) || bytes.Contains(cmd, []byte(m.data)) {
			out = append(out, strings.ReplaceAll(string(cmd[:min(len(cmd), 80)]), "\x00", " "))
		}
	}

	return out
}
