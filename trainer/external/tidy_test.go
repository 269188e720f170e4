package external

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestWhatWasNotUsedForLongIsRemoved(t *testing.T) {
	work := t.TempDir()
	for _, d := range []string{"policies/old", "policies/new", "jobs/old", "jobs/new", "jobs/held"} {
		dir := filepath.Join(work, d)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(lockFile(dir), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}

	unlock, err := lock(t.Context(), filepath.Join(work, "jobs", "held"))
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()

	long := time.Now().Add(-unused - time.Hour)
	for _, d := range []string{"policies/old", "jobs/old.lock", "jobs/held.lock"} {
		if err := os.Chtimes(filepath.Join(work, d), long, long); err != nil {
			t.Fatal(err)
		}
	}

	tidy(work, time.Now())

	for d, want := range map[string]bool{
		"policies/old": false,
		"policies/new": true,
		"jobs/old":     false,
		"jobs/new":     true,
		"jobs/held":    true,
	} {
		t.Run(d, func(t *testing.T) {
			_, err := os.Stat(filepath.Join(work, d))
			if got := err == nil; got != want {
				t.Errorf("exists = %v, want %v (%v)", got, want, err)
			}
		})
	}
}
