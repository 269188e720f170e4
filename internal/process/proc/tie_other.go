//go:build !linux

package proc

import (
	"os/exec"
	"syscall"
)

// Elsewhere there is no parent-death signal: children also watch their standard input, which closes with this process.
func tie(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// KillGroup ends the process group that cmd leads.
func KillGroup(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
}
