package proc

import "syscall"

// dieWithParent has the kernel kill the process when the thread that forks it ends.
func dieWithParent(sysProcAttr *syscall.SysProcAttr) { sysProcAttr.Pdeathsig = syscall.SIGKILL }
