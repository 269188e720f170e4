package external

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/process/proc"
	"github.com/collabui/collabui/trainer"
)

// defaultLook is the time between looks at a program's folder.
const defaultLook = 500 * time.Millisecond

// defaultGrace is what a program gets between the request to stop and the kill.
const defaultGrace = 10 * time.Second

// reapTime is what processes of a program that was killed get to vanish.
const reapTime = 5 * time.Second

// maxTail bounds what of a program's last words stands in an error.
const maxTail = 4000

// attempt brings the job's folder to its newest checkpoint, runs the program to the end of the job or of its station, and stores what came of it.
func (t *Trainer) attempt(ctx context.Context, f Folder, j trainer.Job, p trainer.Progress) (trainer.Result, error) {
	cmd, err := t.Tool.Render(ctx, f, j)
	if err == nil && (len(cmd.Args) == 0 || cmd.Total < 1 || cmd.Kind == "") {
		err = fault.New(fault.Fatal, "the trainer's Render gave a command without arguments, steps or kind: %+v", cmd.Args)
	}
	if err != nil {
		return trainer.Result{}, err
	}
	f.Ranks = max(1, cmd.Devices)
	end := cmd.Total
	if j.Until > 0 {
		end = min(end, j.Until)
	}
	if err := t.restore(ctx, f, j, end); err != nil {
		return trainer.Result{}, err
	}
	w := &watch{t: t, f: f, j: j, cmd: cmd, end: end, progress: p, stored: map[int]bool{}, versions: make(chan map[string]string, 1)}
	go func() {
		if cmd.Versions == nil {
			cmd.Versions = func() map[string]string { return nil }
		}
		w.versions <- cmd.Versions()
	}()
	if !w.finished() {
		if err := w.run(ctx); err != nil {
			return trainer.Result{}, err
		}
	}
	return w.collect(ctx)
}

// watch follows one run of the program.
type watch struct {
	t        *Trainer
	f        Folder
	j        trainer.Job
	cmd      Command
	end      int // the optimiser step at which the job, or its station, ends
	progress trainer.Progress
	told     int          // points
	stored   map[int]bool // checkpoints
	seen     map[int]string
	log      *os.File
	from     int64  // where the log of this run begins
	noted    int64  // bytes of the log that are ours
	lastNote string // the last note
	versions chan map[string]string
}

// finished tells whether the folder holds what the job asks for: its station, the program's results, or a checkpoint of the last step, from which no program may go on.
func (w *watch) finished() bool {
	if w.end == w.cmd.Total {
		if _, _, done := w.t.Tool.Result(w.f); done {
			return true
		}
	}
	return w.t.Tool.Checkpoints(w.f)[w.end] != ""
}

var errDone = errors.New("the station is reached")

// run starts the program and follows it. A context that ends asks it to stop, then kills its whole process group.
func (w *watch) run(ctx context.Context) error {
	ids, release, err := w.t.Devices.Take(ctx, w.cmd.Devices)
	if err != nil {
		return err
	}
	defer release()
	for _, p := range []Local{w.f.Start, w.f.Reference} {
		touch(p.Dir)
		if _, err := os.Stat(p.Dir); p.Dir != "" && err != nil {
			return fault.New(fault.Transient, "a policy of the job is no longer on this host: %w", err)
		}
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
	c := exec.Command(w.cmd.Args[0], w.cmd.Args[1:]...)
	c.Dir, c.Stdout, c.Stderr = w.f.Path, w.log, w.log
	c.Env = append(environ(w.cmd.Drop), w.cmd.Env...)
	c.Env = append(c.Env, jobVariable+"="+w.f.Path, "CUDA_VISIBLE_DEVICES="+strings.Join(ids, ","))
	if err := proc.Start(c); err != nil {
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
			return fault.New(fault.Invalid, "this worker has no program %s: install it, or say where it is, and start the worker again", w.cmd.Args[0])
		}
		return fault.New(fault.Transient, "start %s: %w", w.cmd.Args[0], err)
	}
	exit := make(chan error, 1)
	go func() { exit <- c.Wait() }()
	why, gone := w.follow(ctx, exit)
	if !gone {
		w.stop(c, exit)
	}
	proc.KillGroup(c) // children of the program must not outlive it,
	for end := time.Now().Add(reapTime); reap(w.t.Work, w.f.Path) > 0 && time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond) // not even those in sessions of their own: they hold GPUs and write into the folder
	}
	if ctx.Err() != nil {
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		defer cancel()
		_ = w.store(late, true) // else the next attempt goes on from an earlier one
		return context.Cause(ctx)
	}
	if errors.Is(why, errDone) || w.finished() {
		if w.end < w.cmd.Total {
			return w.store(ctx, true) // the next station begins there, on any host
		}
		return nil // the policy follows; a checkpoint of what is over serves nobody
	}
	if err := w.store(ctx, true); err != nil {
		return err
	}
	if fault.KindOf(why) != fault.Transient {
		return why
	}
	return w.t.Tool.Explain(tail(w.f.Log(), w.from), why)
}

// follow looks at the folder until the program ends (gone), the station is reached, the loss is no number, the program hangs, or the context ends.
func (w *watch) follow(ctx context.Context, exit <-chan error) (why error, gone bool) {
	sign, at, look := "", time.Now(), w.t.Look
	if look == 0 {
		look = defaultLook
	}
	for {
		select {
		case err := <-exit:
			w.tell()
			return err, true
		case <-ctx.Done():
			return context.Cause(ctx), false
		case <-time.After(look):
		}
		if w.tell() {
			return errDone, false // collect says that it diverged
		}
		if err := w.store(ctx, false); err != nil && ctx.Err() == nil {
			w.note("store a checkpoint: %v", err) // the next look tries again
		}
		if w.end < w.cmd.Total && w.stored[w.end] {
			return errDone, false
		}
		if err := w.t.Tool.Alarm(w.f, w.said()); err != nil {
			return err, false
		}
		if s := w.sign(); s != sign {
			sign, at = s, time.Now()
		}
		if w.cmd.Stall > 0 && time.Since(at) > w.cmd.Stall {
			return fault.New(fault.Throttled, "%s gave no sign of life for %v; it was ended and goes on from its newest checkpoint", w.cmd.Args[0], w.cmd.Stall), false
		}
	}
}

// sign changes as long as the program does something that can be seen.
func (w *watch) sign() string {
	s := fmt.Sprint(w.told, len(w.stored))
	if st, err := w.log.Stat(); err == nil {
		s += fmt.Sprint(" ", st.Size()-w.noted)
	}
	return s
}

// maxSaid bounds how much of the beginning of what a program says is looked at.
const maxSaid = 256 << 10

// said is the beginning of what the program has said in this run.
func (w *watch) said() string {
	raw := make([]byte, maxSaid)
	n, _ := w.log.ReadAt(raw, w.from)
	return string(raw[:n])
}

// note writes a line of our own into the log, unless it is the same again.
func (w *watch) note(format string, args ...any) {
	if s := fmt.Sprintf("collabui: "+format+"\n", args...); s != w.lastNote {
		n, _ := w.log.WriteString(s)
		w.noted, w.lastNote = w.noted+int64(n), s
	}
}

// stop asks the program to end, and kills its process group after the grace period.
func (w *watch) stop(c *exec.Cmd, exit <-chan error) {
	grace := w.t.Grace
	if grace == 0 {
		grace = defaultGrace
	}
	_ = syscall.Kill(-c.Process.Pid, syscall.SIGTERM)
	select {
	case <-exit:
	case <-time.After(grace):
		proc.KillGroup(c)
		<-exit
	}
}

// tell passes on the points that are new, and says whether the loss has become no number.
func (w *watch) tell() (diverged bool) {
	points := w.t.Tool.Points(w.f)
	for _, p := range points[min(w.told, len(points)):] {
		if p.Step > w.end {
			continue // behind the station
		}
		p.Steps = w.cmd.Total
		w.progress(p)
		diverged = diverged || notNumber(p)
	}
	w.told = len(points)
	return diverged
}

func notNumber(p domain.TrainPoint) bool {
	return math.IsNaN(p.Loss+p.Margin) || math.IsInf(p.Loss+p.Margin, 0)
}

// tail is the end of what the program wrote since an offset.
func tail(file string, from int64) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	st, err := f.Stat()
	if err != nil {
		return ""
	}
	raw := make([]byte, max(0, min(st.Size()-from, 16*maxTail)))
	n, _ := f.ReadAt(raw, st.Size()-int64(len(raw)))
	return strings.ToValidUTF8(string(raw[:n]), "�")
}

// Tail bounds last words for an error's text.
func Tail(s string) string {
	s = strings.TrimSpace(s)
	if len(s) > maxTail {
		s = "…" + strings.ToValidUTF8(s[len(s)-maxTail:], "")
	}
	return s
}

// explainIO tells a full disk from other faults of the file system.
func explainIO(err error) error {
	if errors.Is(err, syscall.ENOSPC) {
		return fault.New(fault.Transient, "the disk of the job's folder is full: %w; make room, the job goes on from its newest checkpoint", err)
	}
	return fault.As(fault.Transient, err)
}

// environ is this process's environment without what the program must not see: secrets, ours and those of chat endpoints by the usual ends of their names, and variables that would change
// what it does.
func environ(drop string) []string {
	re := regexp.MustCompile(`^(COLLABUI_|[^=]*(_KEY|_TOKEN|_SECRET|_PASSWORD)(_FILE)?=|CUDA_VISIBLE_DEVICES=` + drop + `)`)
	return slices.DeleteFunc(os.Environ(), re.MatchString)
}

// Environ is the environment for helpers of a Tool: without secrets.
func Environ() []string { return environ("") }
