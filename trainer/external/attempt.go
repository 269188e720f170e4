package external

import (
	"context"
	"os"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/trainer"
)

// attempt brings the job's folder to its newest checkpoint, runs the program up to the job's last step, or to
// Job.Until, and stores the policy.
func (t *Trainer) attempt(
	ctx context.Context, folder Folder, job trainer.Job, progress trainer.Progress,
) (trainer.Result, error) {
	cmd, err := t.Tool.Render(ctx, folder, job)
	if err != nil {
		return trainer.Result{}, err
	}
	if len(cmd.Args) == 0 || cmd.Total < 1 || cmd.Kind == "" {
		return trainer.Result{}, fault.New(fault.Fatal,
			"the trainer's Render returned a command without arguments, steps or kind: %+v", cmd.Args)
	}

	folder.Ranks = max(1, cmd.Devices)
	end := cmd.Total
	if job.Until > 0 {
		end = min(end, job.Until)
	}
	if err := t.restore(ctx, folder, job, end); err != nil {
		return trainer.Result{}, err
	}

	w := &watch{
		t:        t,
		f:        folder,
		j:        job,
		cmd:      cmd,
		end:      end,
		progress: progress,
		stored:   map[int]bool{},
		versions: make(chan map[string]string, 1),
	}
	go w.askVersions()

	if !w.finished() {
		run := w.run
		if cmd.Shares != "" {
			run = w.runShared
		}
		if err := run(ctx); err != nil {
			return trainer.Result{}, t.retryInLessMemory(ctx, folder, job, cmd, err)
		}
	}

	return w.collect(ctx)
}

// watch follows one run of the program.
type watch struct {
	t   *Trainer
	f   Folder
	j   trainer.Job
	cmd Command
	// end is the optimiser step at which the run ends: the last one of the job, or Job.Until.
	end int

	progress trainer.Progress
	// passed is the number of points that were read, and newest the last of them, which every sign of life passes on.
	passed int
	newest domain.TrainPoint
	// stored holds the steps of the checkpoints in the store.
	stored map[int]bool
	// seen holds the listing of every checkpoint at the last look.
	seen map[int]string

	log *os.File
	// from is where the output of this run begins in the log.
	from int64
	// noted is the number of bytes that we wrote into the log.
	noted    int64
	lastNote string

	versions chan map[string]string
}

// askVersions sends the versions of what runs.
func (w *watch) askVersions() {
	if w.cmd.Versions == nil {
		w.versions <- nil

		return
	}
	w.versions <- w.cmd.Versions()
}

// finished reports whether the folder holds what the job demands: the program's results, or a checkpoint of the last
// step. A program must not continue from the latter: it would train beyond the end.
func (w *watch) finished() bool {
	if w.end == w.cmd.Total {
		if _, _, done := w.t.Tool.Result(w.f); done {
			return true
		}
	}

	return w.t.Tool.Checkpoints(w.f)[w.end] != ""
}
