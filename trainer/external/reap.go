package external

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// jobVariable holds a job's folder in the environment of its program. All processes below the program inherit it.
const jobVariable = "COLLABUI_JOB"

// reap kills the processes that jobs in a working folder left behind when their worker was killed, and returns the
// number of processes that it found. The kernel ends the program itself then, but not its children, which may hold
// GPUs. Jobs whose lock is held are left alone, except for mine, whose lock the caller holds. Without /proc, reap does
// nothing.
func reap(work, mine string) (killed int) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			continue // The process has ended, or belongs to another user.
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			continue
		}

		for v := range bytes.SplitSeq(raw, []byte{0}) {
			name, ok := strings.CutPrefix(string(v), jobVariable+"="+work+string(filepath.Separator))
			if dir := filepath.Join(work, name); ok && (dir == mine || abandoned(dir)) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
				killed++
			}
		}
	}

	return killed
}
