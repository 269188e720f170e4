//go:build !linux

package proc

import "syscall"

// dieWithParent does nothing: only Linux ties a process to its parent.
func dieWithParent(*syscall.SysProcAttr) {}
