package external

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// jobVariable names a job's folder in the environment of its program and, since they inherit it, of all processes below.
const jobVariable = "COLLABUI_JOB"

// reap ends what was left of jobs in a working folder when their worker was killed: the kernel ends the program itself then, but not the processes that it has started, and they
// hold GPUs. Jobs that somebody holds the lock of are left alone, but for mine, whose lock the caller has. Where there is no /proc it does nothing. It gives the number of processes that it found.
func reap(work, mine string) (killed int) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended, or is another user's
		}
		for v := range bytes.SplitSeq(raw, []byte{0}) {
			dir, ok := strings.CutPrefix(string(v), jobVariable+"="+work+string(filepath.Separator))
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			if ok && err == nil && (filepath.Join(work, dir) == mine || abandoned(filepath.Join(work, dir))) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
				killed++
			}
		}
	}
	return killed
}

// abandoned tells whether nobody holds a job's lock.
func abandoned(dir string) bool {
	f, err := os.Open(dir + ".lock")
	if err != nil {
		return true
	}
	defer func() { _ = f.Close() }()
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}
