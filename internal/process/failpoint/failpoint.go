// Package failpoint kills this process at a named place, so that tests can show what a crash there costs. It does
// nothing unless COLLABUI_FAILPOINT is set.
//
// It imports no other package of this module.
package failpoint

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// env holds the failpoints, separated by commas: NAME@N:FILE kills the process at the Nth hit of NAME, once. FILE is
// created first, and a process that finds it continues.
const env = "COLLABUI_FAILPOINT"

var (
	mu   sync.Mutex
	hits = map[string]int{} // hits by failpoint, as it is set
)

// Hit marks a place. It does not return if a failpoint kills the process there.
func Hit(name string) {
	setting := os.Getenv(env)
	if setting == "" {
		return
	}
	for one := range strings.SplitSeq(setting, ",") {
		where, file, ok := strings.Cut(one, ":")
		place, count, ok2 := strings.Cut(where, "@")
		n, err := strconv.Atoi(count)
		if ok && ok2 && err == nil && place == name && reached(one, n) {
			kill(name, file)
		}
	}
}

// reached counts a hit and reports whether it is the nth.
func reached(failpoint string, n int) bool {
	mu.Lock()
	defer mu.Unlock()
	hits[failpoint]++

	return hits[failpoint] == n
}

// kill ends the process by SIGKILL unless the file exists.
func kill(name, file string) {
	f, err := os.OpenFile(filepath.Clean(file), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	_, _ = fmt.Fprintf(f, "%s pid %d\n", name, os.Getpid())
	_ = f.Close()
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)

	select {} // the signal may take a moment; nothing more may happen
}
