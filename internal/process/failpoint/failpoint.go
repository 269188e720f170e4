// Package failpoint kills this very process at a named place, so that tests can show what a death there costs. Without COLLABUI_FAILPOINT it does nothing.
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

var (
	mu   sync.Mutex
	hits = map[string]int{}
)

// Hit marks a place. COLLABUI_FAILPOINT=NAME@N:FILE ends the process by SIGKILL at the Nth hit of NAME, once: FILE is created first, and a process that
// finds it passes.
func Hit(name string) {
	setting := os.Getenv("COLLABUI_FAILPOINT")
	if setting == "" {
		return
	}
	for _, one := range strings.Split(setting, ",") {
		where, file, ok := strings.Cut(one, ":")
		place, nth, ok2 := strings.Cut(where, "@")
		n, err := strconv.Atoi(nth)
		if !ok || !ok2 || err != nil || place != name {
			continue
		}
		mu.Lock()
		hits[one]++
		now := hits[one] == n
		mu.Unlock()
		if !now {
			continue
		}
		f, err := os.OpenFile(filepath.Clean(file), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			continue
		}
		_, _ = fmt.Fprintf(f, "%s pid %d\n", name, os.Getpid())
		_ = f.Close()
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // nothing more may happen
	}
}
