package external

import (
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// unused is how long a downloaded policy, or the folder of a job that went on elsewhere, stays on a host: what matters of both is in the store.
const unused = 48 * time.Hour

// tidy removes from a working folder what was not used for long; it is called when a job begins.
func tidy(work string, now time.Time) {
	policies, _ := filepath.Glob(filepath.Join(work, "policies", "*"))
	for _, dir := range policies {
		if st, err := os.Stat(dir); err == nil && now.Sub(st.ModTime()) > unused {
			_ = os.RemoveAll(dir)
		}
	}
	jobs, _ := filepath.Glob(filepath.Join(work, "jobs", "*.lock"))
	for _, file := range jobs {
		dir := file[:len(file)-len(".lock")]
		st, err := os.Stat(file)
		if err != nil || now.Sub(st.ModTime()) <= unused {
			continue
		}
		f, err := os.Open(file)
		if err != nil {
			continue
		}
		if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil { // held until the folder is gone
			_ = os.RemoveAll(dir)
		}
		_ = f.Close()
	}
}

// touch notes that a file or folder is in use.
func touch(path string) {
	now := time.Now()
	_ = os.Chtimes(path, now, now) // it may be gone: then there is nothing to note
}
