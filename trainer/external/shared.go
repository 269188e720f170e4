package external

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

// company is a process that does the jobs of a host whose commands have the same Shares. Jobs join and leave it: it
// reads N.json of each in its folder, and N.open exists while it works on one. The last to leave ends it.
type company struct {
	dir   string
	ready chan struct{} // closed when the process runs, or err is set
	done  chan struct{} // closed when the process has ended; exit is then set
	err   error
	exit  error
	end   context.CancelFunc
	said  string // the process's last lines; set before done is closed

	jobs int // that have not left
	next int // number of the next job
}

// sharedDir is the part of a working folder with the folders of shared processes.
const sharedDir = "shared"

// companies are the processes that several jobs share, by Command.Shares.
type companies struct {
	mu   sync.Mutex
	open map[string]*company
}

// join adds a job to the process of its command, which it starts if necessary, and returns the process and the job's
// number. The caller must leave.
func (c *companies) join(ctx context.Context, w *watch) (*company, int, error) {
	c.mu.Lock()
	found := c.open[w.cmd.Shares]
	if found != nil {
		select {
		case <-found.done: // those who left behind find another one
			found = nil
		default:
		}
	}
	if found == nil {
		running, end := context.WithCancel(context.WithoutCancel(ctx))
		found = &company{ready: make(chan struct{}), done: make(chan struct{}), end: end}
		if c.open == nil {
			c.open = map[string]*company{}
		}
		c.open[w.cmd.Shares] = found
		go found.run(running, w)
	}
	found.jobs++
	found.next++
	number := found.next
	c.mu.Unlock()

	select {
	case <-found.ready:
	case <-ctx.Done():
		c.depart(w, found)

		return nil, 0, context.Cause(ctx)
	}
	err := found.err
	if err == nil {
		err = found.enter(w.cmd.Job, number)
	}
	if err != nil {
		c.depart(w, found)

		return nil, 0, err
	}

	return found, number, nil
}

// enter gives the process a job.
func (c *company) enter(job string, number int) error {
	raw, err := os.ReadFile(job)
	if err != nil {
		return explainIO(err)
	}
	part := filepath.Join(c.dir, fmt.Sprint(number, ".part"))
	err = os.WriteFile(part, raw, 0o644)
	if err == nil {
		err = os.Rename(part, c.file(number, ".json"))
	}
	if err != nil {
		return explainIO(err)
	}

	return nil
}

func (c *company) file(number int, suffix string) string {
	return filepath.Join(c.dir, strconv.Itoa(number)+suffix)
}

// depart counts a job that leaves its process, and ends the process if it was the last.
func (c *companies) depart(w *watch, from *company) (last bool) {
	c.mu.Lock()
	from.jobs--
	last = from.jobs == 0
	if last && c.open[w.cmd.Shares] == from {
		delete(c.open, w.cmd.Shares)
	}
	c.mu.Unlock()
	if last {
		from.end()
		<-from.done
	}

	return last
}

// leave takes a job out of its process, and returns when the process no longer works on it. A job that the process does
// not let go in time ends it: the others resume from their checkpoints.
func (c *companies) leave(w *watch, from *company, number int) {
	if c.depart(w, from) {
		return
	}
	_ = os.Remove(from.file(number, ".json"))
	grace := w.t.Grace
	if grace == 0 {
		grace = defaultGrace
	}
	for end := time.Now().Add(grace + time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if _, err := os.Stat(from.file(number, ".open")); errors.Is(err, os.ErrNotExist) {
			return
		}
		select {
		case <-from.done:
			return
		default:
		}
		if time.Now().After(end) {
			from.end()
			<-from.done

			return
		}
	}
}

// run runs the process until the context ends, on devices of its own.
func (c *company) run(ctx context.Context, w *watch) {
	defer close(c.done)
	var once sync.Once
	ready := func(err error) {
		once.Do(func() {
			c.err = err
			close(c.ready)
		})
	}
	err := c.work(ctx, w, ready)
	c.exit = err
	ready(err)
}

// work starts the process, calls ready, and returns how the process ended.
func (c *company) work(ctx context.Context, w *watch, ready func(error)) error {
	parent := filepath.Join(w.t.Work, sharedDir)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return explainIO(err)
	}
	dir, err := os.MkdirTemp(parent, w.cmd.Shares+"-")
	if err != nil {
		return explainIO(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	unlock, err := lock(ctx, dir) // reap leaves the process alone
	if err != nil {
		return err
	}
	defer func() {
		unlock()
		_ = os.Remove(lockFile(dir))
	}()
	c.dir = dir

	ids, release, err := w.t.Devices.Take(ctx, w.cmd.Devices)
	if err != nil {
		return err
	}
	defer release()
	if w.t.Share != nil && len(ids) > 0 {
		wake, err := w.t.Share.Sleep(ctx)
		if err != nil {
			return err
		}
		defer wake()
	}

	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return explainIO(err)
	}
	defer func() { _ = log.Close() }()
	program, err := startProgram(w.cmd, ids, dir, log, dir) // the queue is the last argument
	if err != nil {
		return err
	}
	ready(nil)
	exit := make(chan error, 1)
	go func() { exit <- program.Wait() }()
	select {
	case err = <-exit:
	case <-ctx.Done():
		err = stopProgram(program, exit, w.t.Grace)
	}
	clearProgram(program, w.t.Work, dir)
	c.said = tail(log.Name(), 0)

	return err
}

// runShared does the job in a process that it may share, and follows it to its end.
func (w *watch) runShared(ctx context.Context) error {
	if err := w.policiesPresent(); err != nil {
		return err
	}
	var err error
	if w.log, err = os.OpenFile(w.f.Log(), os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o644); err != nil {
		return explainIO(err)
	}
	defer func() { _ = w.log.Close() }()
	w.from, _ = w.log.Seek(0, io.SeekEnd)

	process, number, err := w.t.companies.join(ctx, w)
	if err != nil {
		return err
	}
	running, ended := context.WithCancel(ctx)
	defer ended()
	exit := make(chan error, 1)
	go func() {
		select {
		case <-process.done:
			exit <- process.exit
			ended()
		case <-running.Done():
		}
	}()

	gone, why := w.follow(ctx, running, exit)
	w.t.companies.leave(w, process, number)
	if gone {
		w.note("the process of the job ended:\n%s", Tail(process.said))
	}

	return w.after(ctx, why)
}
