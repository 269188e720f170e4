package browser

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"

	"github.com/collabui/collabui/fault"
)

// account is the user that runs a browser, and whether the sandbox works for this user.
type account struct {
	credential *syscall.Credential // nil for the user of this process
	sandbox    bool
}

// accountOf returns the account for a browser; see accountFor.
var accountOf = sync.OnceValues(func() (account, error) {
	path, err := Find()
	if err != nil {
		return account{}, err
	}

	return accountFor(path)
})

// Account describes the user that runs browsers, and whether they have their sandbox. The error is the reason why no
// browser can be started.
func Account() (string, error) {
	who, err := accountOf()
	switch {
	case err != nil:
		return "", err
	case who.credential == nil:
		return "as this account, in its sandbox", nil
	case who.sandbox:
		return "as nobody, in its sandbox", nil
	}

	return "as nobody, without a sandbox: nobody has no user namespaces here", nil
}

// accountFor returns the account for the browser program at path. Chromium refuses its sandbox to root, so a worker of
// root starts it as the user nobody, who cannot read the worker's files or signal its processes. Where that user has no
// user namespaces, as in some containers, there is no sandbox. If that user cannot run the program, the error is a
// fault of kind Invalid, because root must not run it.
func accountFor(path string) (account, error) {
	if os.Geteuid() != 0 {
		return account{sandbox: true}, nil
	}
	refused := func(err error) (account, error) {
		return account{}, fault.New(fault.Invalid, "Chromium does not run as root, because pages would have root's "+
			"rights, and the user nobody cannot run %s (%w): install it in a folder that every account may enter, "+
			"or run the worker as another account", path, err)
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		return refused(err)
	}
	uid, err := strconv.ParseUint(nobody.Uid, 10, 32)
	gid, bad := strconv.ParseUint(nobody.Gid, 10, 32)
	err = errors.Join(err, bad)
	if err != nil {
		return refused(err)
	}
	absolute, err := exec.LookPath(path)
	if err != nil {
		return refused(err)
	}
	a := account{credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	if !a.can("test", "-x", absolute) {
		return refused(fs.ErrPermission)
	}
	a.sandbox = a.can("unshare", "--user", "true")

	return a, nil
}

// can reports whether the account can run a command.
func (a account) can(name string, args ...string) bool {
	command := exec.Command(name, args...)
	command.Dir = "/"
	command.Env = environ()
	command.SysProcAttr = &syscall.SysProcAttr{Credential: a.credential}

	return command.Run() == nil
}

// profile makes the folder for a browser's files, which is also its home and belongs to the account. It lies in this
// process's folder for temporary files, or in the system's if the account cannot reach that.
func (a account) profile() (string, error) {
	_ = os.MkdirAll(os.TempDir(), 0o700) // systems remove folders that lie unused in /tmp for weeks
	dir, err := os.MkdirTemp("", "browser-*")
	if err != nil || a.credential == nil {
		return dir, fault.As(fault.Transient, err)
	}

	// The worker's folder for temporary files is private. The user nobody may pass through it, but not list it.
	parent := filepath.Dir(dir)
	if fileInfo, err := os.Stat(parent); err == nil && fileInfo.Mode().Perm() == 0o700 {
		_ = os.Chmod(parent, 0o711) // the check below decides whether that is enough
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

// own makes the account the owner of a folder.
func (a account) own(dir string) error {
	return fault.As(fault.Transient, os.Chown(dir, int(a.credential.Uid), int(a.credential.Gid)))
}
