package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const (
	// minFree is the disk space below which a service refuses to run: it stops while it can still write its last pages,
	// instead of failing halfway.
	minFree = 64 << 20
	// spaceInterval is how often the space is checked while serving.
	spaceInterval = 5 * time.Second
)

// data is a service's folder, held by one process at a time. An empty path belongs to a service that keeps nothing.
type data struct {
	path string
	lock *os.File
}

// openData creates the folder if needed and locks it. The kernel drops the lock
// when the process dies, so a killed service leaves nothing to clean up.
func openData(path, service string) (*data, error) {
	d := &data{path: path}
	if path == "" {
		return d, nil
	}

	if err := os.MkdirAll(path, 0o755); err != nil {
		return nil, dataProblem("cannot create the data folder", err)
	}

	if err := d.checkSpace(); err != nil {
		return nil, err
	}

	if err := d.acquire(service); err != nil {
		return nil, err
	}

	return d, nil
}

func (d *data) acquire(service string) error {
	name := filepath.Join(d.path, service+".lock")
	file, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return dataProblem("cannot open the lock file", err)
	}

	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return &problem{
				code: exitLocked,
				what: name + " is locked",
				todo: "another " + service + " runs on this folder: stop it or choose another folder",
			}
		}
		return dataProblem("cannot lock "+name, err)
	}

	d.lock = file

	return nil
}

func (d *data) checkSpace() error {
	var st syscall.Statfs_t
	if err := syscall.Statfs(d.path, &st); err != nil {
		return dataProblem("cannot look at the disk of "+d.path, err)
	}

	if free := st.Bavail * uint64(st.Bsize); free < minFree {
		what := fmt.Sprintf("disk of %s has %d MiB left, %d are needed", d.path, free>>20, minFree>>20)
		return dataProblem(what, syscall.ENOSPC)
	}

	return nil
}

// watch ends the process with a clear reason when the disk fills up.
func (d *data) watch(ctx context.Context, end context.CancelCauseFunc) {
	if d.path == "" {
		return
	}

	tick := time.NewTicker(spaceInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := d.checkSpace(); err != nil {
				end(err)
			}
		}
	}
}

func (d *data) close() {
	if d.lock != nil {
		_ = d.lock.Close()
	}
}
