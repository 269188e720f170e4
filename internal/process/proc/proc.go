// Package proc starts child processes that cannot outlive this one. It knows no other package of this module.
package proc

import (
	"os/exec"
	"runtime"
	"sync"
)

var (
	starter = make(chan func())
	once    sync.Once
)

// Start starts cmd so that the kernel ends it when this process dies, however it dies. The kernel ties that to the thread that forks, so all
// children are forked by one thread that never ends. The child leads its own process group.
func Start(cmd *exec.Cmd) error {
	once.Do(func() {
		go func() {
			runtime.LockOSThread()
			for f := range starter {
				f()
			}
		}()
	})
	tie(cmd)
	done := make(chan error)
	starter <- func() { done <- cmd.Start() }
	return <-done
}
