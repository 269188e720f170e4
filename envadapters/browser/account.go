package browser

import (
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"

	"github.com/collabui/collabui/fault"
)

// account is who runs a browser, and whether its sandbox works for them.
type account struct {
	credential *syscall.Credential // nil: who runs this process
	sandbox    bool
}

// accountOf returns the account for a browser. Chromium refuses its sandbox to root, so a worker of root starts it as
// nobody, who cannot read the worker's files or signal its processes. Where nobody has no user namespaces, as in some
// containers, there is no sandbox; where nobody cannot run the program, root must.
var accountOf = sync.OnceValue(func() account {
	if os.Geteuid() != 0 {
		return account{sandbox: true}
	}
	path, err := Find()
	nobody, of := user.Lookup("nobody")
	if err != nil || of != nil {
		return account{}
	}
	uid, err := strconv.ParseUint(nobody.Uid, 10, 32)
	gid, of := strconv.ParseUint(nobody.Gid, 10, 32)
	if err != nil || of != nil {
		return account{}
	}
	if path, err = exec.LookPath(path); err != nil {
		return account{}
	}

	a := account{credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	if !a.can("test", "-x", path) {
		return account{}
	}
	a.sandbox = a.can("unshare", "--user", "true")

	return a
})

// can reports whether the account can run a command.
func (a account) can(name string, args ...string) bool {
	c := exec.Command(name, args...)
	c.Dir, c.Env = "/", environ()
	c.SysProcAttr = &syscall.SysProcAttr{Credential: a.credential}

	return c.Run() == nil
}

// profile makes the folder of a browser's files, which is its home, too, and belongs to its account. It is among the
// temporary files, in the system's own folder if the account cannot reach this process's.
func (a account) profile() (string, error) {
	_ = os.MkdirAll(os.TempDir(), 0o700) // systems remove what lies unused in /tmp for weeks
	dir, err := os.MkdirTemp("", "browser-*")
	if err != nil || a.credential == nil {
		return dir, fault.As(fault.Transient, err)
	}

	// The worker's folder for temporary files is private. Nobody may pass through it, and list nothing.
	parent := filepath.Dir(dir)
	if i, err := os.Stat(parent); err == nil && i.Mode().Perm() == 0o700 {
		_ = os.Chmod(parent, 0o711) // whether that is enough is tried below
	}
	if err := a.own(dir); err != nil || a.can("test", "-w", dir) {
		return dir, err
	}
	_ = os.Remove(dir)
	if dir, err = os.MkdirTemp("/tmp", "browser-*"); err != nil {
		return dir, fault.As(fault.Transient, err)
	}

	return dir, a.own(dir)
}

// own gives a folder to the account.
func (a account) own(dir string) error {
	return fault.As(fault.Transient, os.Chown(dir, int(a.credential.Uid), int(a.credential.Gid)))
}
