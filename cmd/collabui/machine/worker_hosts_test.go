package machine

import (
	"io"
	"os"
	"testing"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/envadapters/hosts"
	"github.com/collabui/collabui/internal/observe/logging"
)

// TestAWorkerReachesTheLoopbackOnlyIfItIsListed: the person who starts a worker decides, and the default is safe.
func TestAWorkerReachesTheLoopbackOnlyIfItIsListed(t *testing.T) {
	for set, want := range map[string]string{"": hosts.Beyond, "*,localhost": "*,localhost", "a.example": "a.example"} {
		t.Setenv(hosts.Env, set)
		t.Setenv(logging.EnvLevel, "none")
		c := workerCmd(&app.App{Out: io.Discard, Err: io.Discard})
		c.SilenceErrors = true
		c.SilenceUsage = true
		c.SetArgs([]string{})
		if err := c.ExecuteContext(t.Context()); err == nil {
			t.Error("a worker with an unknown level started, want an error before it does")
		}
		if got := os.Getenv(hosts.Env); got != want {
			t.Errorf("with %s=%q a worker has %q, want %q", hosts.Env, set, got, want)
		}
	}
}
