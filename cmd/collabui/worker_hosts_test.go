package main

import (
	"io"
	"os"
	"testing"

	"github.com/collabui/collabui/envadapters/hosts"
)

// TestAWorkerReachesTheLoopbackOnlyIfItIsListed: whoever starts one decides, and the default is safe.
func TestAWorkerReachesTheLoopbackOnlyIfItIsListed(t *testing.T) {
	for set, want := range map[string]string{"": hosts.Beyond, "*,localhost": "*,localhost", "a.example": "a.example"} {
		t.Setenv(hosts.Env, set)
		if code := run([]string{"worker", "--log-level", "none"}, io.Discard, io.Discard); code == 0 {
			t.Error("a worker with an unknown level started, want an error before it does")
		}
		if got := os.Getenv(hosts.Env); got != want {
			t.Errorf("with %s=%q a worker has %q, want %q", hosts.Env, set, got, want)
		}
	}
}
