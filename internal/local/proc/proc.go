// Package proc starts child processes that cannot outlive this one. That needs Linux, the only system on which services
// and workers are supported. On other systems, where only the command line runs, a child may outlive a process that is
// killed.
package proc

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

var (
	starter = make(chan func())
	once    sync.Once
)

// Start starts cmd so that the kernel kills it whenever this process dies. The kernel ties that signal to the thread
// that forks, so one thread, which never ends, forks all children. The child leads its own process group.
func Start(cmd *exec.Cmd) error {
	once.Do(func() {
		go func() {
			runtime.LockOSThread()
			for start := range starter {
				start()
			}
		}()
	})
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(cmd.SysProcAttr)

	done := make(chan error)
	starter <- func() { done <- cmd.Start() }

	return <-done
}

// KillGroup kills the process group that cmd leads. It does nothing if cmd was not started.
func KillGroup(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
}
