package external

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"github.com/collabui/collabui/fault"
)

// lockRetry is the time between attempts to take a lock.
const lockRetry = 200 * time.Millisecond

// lock keeps a second attempt on this host out of a job's folder until the first has ended, however it ended. It makes
// the folder.
func lock(ctx context.Context, dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fault.New(fault.Transient, "make the job's folder: %w", err)
	}
	file, err := os.OpenFile(lockFile(dir), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fault.New(fault.Transient, "lock the job's folder: %w", err)
	}

	for {
		err = tryLock(file)
		if err == nil {
			touch(lockFile(dir))
			err = os.MkdirAll(dir, 0o755) // The previous holder may have finished the job and removed it.
			if err == nil {
				return func() { _ = file.Close() }, nil
			}
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			_ = file.Close()

			return nil, fault.New(fault.Transient, "lock the job's folder: %w", err)
		}

		select {
		case <-ctx.Done():
			_ = file.Close()

			return nil, context.Cause(ctx)
		case <-time.After(lockRetry):
		}
	}
}

// lockSuffix is added to a job's folder to name its lock.
const lockSuffix = ".lock"

func lockFile(dir string) string { return dir + lockSuffix }

// tryLock takes a lock until f is closed, or fails with EWOULDBLOCK.
func tryLock(file *os.File) error {
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}

// abandoned reports whether no process holds a job's lock.
func abandoned(dir string) bool {
	file, err := os.Open(lockFile(dir))
	if err != nil {
		return true
	}
	defer func() { _ = file.Close() }()

	return tryLock(file) == nil
}
