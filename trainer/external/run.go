package external

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/local/proc"
)

const (
	// defaultGrace is the time between the request to stop and the kill.
	defaultGrace = 10 * time.Second
	// reapTime is the time that killed processes get to disappear.
	reapTime = 5 * time.Second
	// lateStore is the time to store checkpoints after the context has ended.
	lateStore = 30 * time.Second
)

// run starts the program and follows it to its end. When the context ends, run interrupts the program, then kills its
// whole process group.
func (w *watch) run(ctx context.Context) error {
	ids, release, err := w.t.Devices.Take(ctx, w.cmd.Devices)
	if err != nil {
		return err
	}
	defer release()

	if err := w.policiesPresent(); err != nil {
		return err
	}
	if w.t.Share != nil && len(ids) > 0 {
		wake, err := w.t.Share.Sleep(ctx)
		if err != nil {
			return err
		}
		defer wake()
	}

	if w.log, err = os.OpenFile(w.f.Log(), os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o644); err != nil {
		return explainIO(err)
	}
	defer func() { _ = w.log.Close() }()
	w.from, _ = w.log.Seek(0, io.SeekEnd)

	command, err := w.start(ids)
	if err != nil {
		return err
	}
	exit := make(chan error, 1)
	running, ended := context.WithCancel(ctx)
	go func() {
		exit <- command.Wait()
		ended()
	}()

	gone, why := w.follow(ctx, running, exit)
	if !gone {
		_ = stopProgram(command, exit, w.t.Grace) // The folder shows how far the program got.
	}
	clearProgram(command, w.t.Work, w.f.Path)

	return w.after(ctx, why)
}

// policiesPresent checks that the policies were not tidied away while the job waited for devices.
func (w *watch) policiesPresent() error {
	for _, local := range []Local{w.f.Start, w.f.Reference} {
		touch(local.Dir)
		if _, err := os.Stat(local.Dir); local.Dir != "" && err != nil {
			return fault.New(fault.Transient, "a policy of the job is no longer on this host: %w", err)
		}
	}

	return nil
}

// start starts the program on devices.
func (w *watch) start(devices []string) (*exec.Cmd, error) {
	return startProgram(w.cmd, devices, w.f.Path, w.log)
}

// startProgram starts a program on devices, in a folder. further are arguments after those of the command. The
// environment names the folder, by which reap finds what the program leaves behind.
func startProgram(
	cmd Command, devices []string, folder string, log *os.File, further ...string,
) (*exec.Cmd, error) {
	program := exec.Command(cmd.Args[0], append(slices.Clone(cmd.Args[1:]), further...)...)
	program.Dir = folder
	program.Stdout = log
	program.Stderr = log
	program.Env = append(environ(cmd.Drop), cmd.Env...)
	program.Env = append(program.Env, jobVariable+"="+folder, "CUDA_VISIBLE_DEVICES="+strings.Join(devices, ","))

	err := proc.Start(program)
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		return nil, fault.New(fault.Invalid,
			"this worker has no program %s: install it, or configure its path, and restart the worker", cmd.Args[0])
	}
	if err != nil {
		return nil, fault.New(fault.Transient, "start %s: %w", cmd.Args[0], err)
	}

	return program, nil
}

// stopProgram interrupts a program, kills its process group after the grace period, and returns how the program ended.
func stopProgram(program *exec.Cmd, exit <-chan error, grace time.Duration) error {
	if grace == 0 {
		grace = defaultGrace
	}

	_ = syscall.Kill(-program.Process.Pid, syscall.SIGTERM)
	select {
	case err := <-exit:
		return err
	case <-time.After(grace):
		proc.KillGroup(program)

		return <-exit
	}
}

// clearProgram kills what a program left behind: its process group, and children in other sessions. They would hold
// GPUs and write into its folder.
func clearProgram(program *exec.Cmd, work, folder string) {
	proc.KillGroup(program)
	for end := time.Now().Add(reapTime); reap(work, folder) > 0 && time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond)
	}
}

// after stores the checkpoints of a program that has ended, and returns an error unless the folder holds what the job
// demands.
func (w *watch) after(ctx context.Context, why error) error {
	if ctx.Err() != nil {
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), lateStore)
		defer cancel()
		_ = w.store(late, true) // If it fails, the next attempt resumes from an earlier checkpoint.

		return context.Cause(ctx)
	}

	if errors.Is(why, errDone) || w.finished() {
		if w.end < w.cmd.Total {
			return w.store(ctx, true) // The job continues from there later, on any host.
		}

		return nil // The policy is stored next; a finished job needs no checkpoint.
	}

	if err := w.store(ctx, true); err != nil {
		return err
	}
	if fault.KindOf(why) != fault.Transient {
		return why
	}

	return w.t.Tool.Explain(tail(w.f.Log(), w.from), why)
}

// explainIO distinguishes a full disk from other faults of the file system.
func explainIO(err error) error {
	if errors.Is(err, syscall.ENOSPC) {
		return fault.New(fault.Transient, "the disk of the job's folder is full: %w; "+
			"free some space, the job then resumes from its newest checkpoint", err)
	}

	return fault.As(fault.Transient, err)
}
