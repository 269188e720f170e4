package external

import (
	"os"
	"path/filepath"
	"strings"
	"time"
)

// unused is how long an idle policy, or the folder of a job that continued elsewhere, stays on a host. The store has
// everything that matters.
const unused = 48 * time.Hour

// tidy removes what has not been used for long from a working folder. It is called when a job begins.
func tidy(work string, now time.Time) {
	policies, _ := filepath.Glob(filepath.Join(work, "policies", "*"))
	for _, dir := range policies {
		if idle(dir, now) {
			_ = os.RemoveAll(dir)
		}
	}

	locks, _ := filepath.Glob(filepath.Join(work, "jobs", "*"+lockSuffix))
	shared, _ := filepath.Glob(filepath.Join(work, sharedDir, "*"+lockSuffix))
	locks = append(locks, shared...)
	for _, file := range locks {
		if !idle(file, now) {
			continue
		}
		f, err := os.Open(file)
		if err != nil {
			continue
		}
		if tryLock(f) == nil { // The lock is held until the folder is gone.
			_ = os.RemoveAll(strings.TrimSuffix(file, lockSuffix))
		}
		_ = f.Close()
	}
}

// idle reports whether a file or folder has not been used for long.
func idle(path string, now time.Time) bool {
	st, err := os.Stat(path)

	return err == nil && now.Sub(st.ModTime()) > unused
}

// touch records that a file or folder is in use. A missing one is left missing.
func touch(path string) {
	now := time.Now()
	_ = os.Chtimes(path, now, now)
}
