package external

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/trainer"
)

// turnTaker is a program that does several jobs in turns. A job is a file with the path of its folder. Each step is a
// line of the folder's file steps, and of the file that $ALL names.
const turnTaker = `echo started >>"$ALL"
while :; do
  for job in "$1"/*.json; do
    open="${job%.json}.open"
    [ -e "$job" ] || continue
    [ -e "$open" ] || { [ -e "${job%.json}.was" ] && continue; : >"${job%.json}.was"; : >"$open"; }
    folder="$(cat "$job")"
    mkdir -p "$folder/out"
    if [ -e "$folder/bad" ]; then echo "it is bad" >"$folder/error"; rm "$open"; continue; fi
    [ -e "$folder/endless" ] && [ "$(wc -l <"$folder/steps")" -ge 2 ] && continue
    echo step >>"$folder/steps"
    echo "$(basename "$folder")" >>"$ALL"
    if [ "$(wc -l <"$folder/steps")" -ge 4 ]; then : >"$folder/out/done"; rm "$open"; fi
  done
  for open in "$1"/*.open; do [ -e "${open%.open}.json" ] || rm -f "$open"; done
  sleep 0.02
done`

// turns is the tool of turnTaker.
type turns struct {
	model string
	all   string // the file that $ALL names
}

func (t turns) Base(json.RawMessage) (domain.BaseModel, string, error) {
	return domain.BaseModel{Name: "m", Digest: "d"}, t.model, nil
}

// Render marks a job by the prompt of its first pair.
func (t turns) Render(_ context.Context, f Folder, j trainer.Job) (Command, error) {
	job := filepath.Join(f.Path, "job")
	err := errors.Join(os.WriteFile(job, []byte(f.Path), 0o644), os.RemoveAll(filepath.Join(f.Path, "error")),
		os.WriteFile(filepath.Join(f.Path, "steps"), nil, 0o644))
	if mark := j.Pairs[0].Prompt; mark != "" {
		err = errors.Join(err, os.WriteFile(filepath.Join(f.Path, mark), nil, 0o644))
	}

	return Command{
		Args: []string{"sh", "-c", turnTaker, "sh"}, Env: []string{"ALL=" + t.all}, Shares: "all", Job: job, Total: 4,
		Kind: domain.ArtifactLoRA,
	}, err
}

func (turns) Points(f Folder) (out []domain.TrainPoint) {
	raw, _ := os.ReadFile(filepath.Join(f.Path, "steps"))
	for i := range strings.Count(string(raw), "\n") {
		out = append(out, domain.TrainPoint{Step: i + 1})
	}

	return out
}

func (turns) Checkpoints(Folder) map[int]string { return nil }

func (turns) Result(f Folder) (map[string]string, map[string]float64, bool) {
	_, err := os.Stat(filepath.Join(f.Out(), "done"))

	return map[string]string{"steps": filepath.Join(f.Path, "steps")}, nil, err == nil
}

func (turns) Policy(Folder, string) (map[string]string, map[string]float64, error) {
	return nil, nil, errors.New("no checkpoint")
}

func (turns) Alarm(f Folder, _ string) error {
	if raw, err := os.ReadFile(filepath.Join(f.Path, "error")); err == nil {
		return fault.New(fault.Invalid, "%s", raw)
	}

	return nil
}

func (turns) Explain(tail string, exit error) error {
	return fault.New(fault.Transient, "it ended (%v) %s", exit, tail)
}

// newTurns returns a Trainer of turnTaker.
func newTurns(t *testing.T) (*Trainer, turns) {
	t.Helper()
	tool := turns{model: t.TempDir(), all: filepath.Join(t.TempDir(), "all")}

	return &Trainer{Host: Host{
		Bucket: &store.Memory{}, Checkpoints: func(job string) string { return job + "-" }, Work: t.TempDir(),
		Look: 10 * time.Millisecond, Grace: time.Second,
	}, Tool: tool}, tool
}

// said returns what the program has written to $ALL.
func (t turns) said() string {
	raw, _ := os.ReadFile(t.all)

	return string(raw)
}

func jobOf(name, mark string) trainer.Job {
	return trainer.Job{ID: name, Objective: trainer.SFT, Pairs: []domain.Example{{Prompt: mark, Chosen: name}}}
}

func quiet(domain.TrainPoint) {}

func TestJobsOfOneBaseShareAProcessAndTakeTurns(t *testing.T) {
	t.Parallel()
	host, tool := newTurns(t)
	bad := make(chan error, 1)
	dropped, drop := context.WithCancelCause(t.Context())
	gone := errors.New("the job is cancelled")
	var jobs sync.WaitGroup
	jobs.Go(func() {
		_, err := host.Train(t.Context(), jobOf("bad", "bad"), quiet)
		bad <- err
	})
	jobs.Go(func() {
		steps := func(p domain.TrainPoint) {
			if p.Step == 2 {
				drop(gone)
			}
		}
		if _, err := host.Train(dropped, jobOf("dropped", "endless"), steps); !errors.Is(err, gone) {
			t.Errorf("the dropped job: %v, want %v", err, gone)
		}
		for i := range 3 {
			jobs.Go(func() {
				got, err := host.Train(t.Context(), jobOf(fmt.Sprint("job", i), ""), quiet)
				if err != nil || got.Steps != 4 || len(got.Curve) != 4 {
					t.Errorf("job %d: %+v, %v; want its four steps", i, got, err)
				}
			})
		}
	})
	jobs.Wait()

	if err := <-bad; fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "it is bad") {
		t.Errorf("the job that fails: %v, want why", err)
	}
	if n := strings.Count(tool.said(), "started"); n < 1 || n > 3 {
		t.Errorf("the program was started %d times for five jobs, want at most once for each time that it had none", n)
	}
	left, _ := filepath.Glob(filepath.Join(host.Work, sharedDir, "*"))
	if len(left) > 0 {
		t.Errorf("%v are left, want nothing once no job is open", left)
	}
}

func TestAJobLosesNothingWithTheProcessThatItShares(t *testing.T) {
	t.Parallel()
	host, tool := newTurns(t)
	hold, end := context.WithCancel(t.Context())
	var jobs sync.WaitGroup
	jobs.Go(func() { _, _ = host.Train(hold, jobOf("holds", "endless"), quiet) })
	limit := time.Now().Add(20 * time.Second)
	for ; !strings.Contains(tool.said(), "\n"); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal("the program has not started, want it to run")
		}
	}

	got, err := host.Train(t.Context(), jobOf("joins", ""), quiet)
	if err != nil || got.Steps != 4 {
		t.Errorf("a job that joins: %+v, %v; want its four steps", got, err)
	}
	if n := strings.Count(tool.said(), "started"); n != 1 {
		t.Errorf("the program was started %d times, want once for both jobs", n)
	}

	killed := make(chan error, 1)
	jobs.Go(func() {
		_, err := host.Train(t.Context(), jobOf("is killed", "endless"), func(domain.TrainPoint) {
			reap(host.Work, folderOfShared(t, host))
		})
		killed <- err
	})
	if err := <-killed; fault.KindOf(err) != fault.Transient || !strings.Contains(err.Error(), "it ended") {
		t.Errorf("a job whose process is killed: %v, want a transient fault", err)
	}
	end()
	jobs.Wait()
	if got, err := host.Train(t.Context(), jobOf("comes later", ""), quiet); err != nil || got.Steps != 4 {
		t.Errorf("a job after the kill: %+v, %v; want its four steps in another process", got, err)
	}
}

// folderOfShared returns the folder of the only shared process.
func folderOfShared(t *testing.T, host *Trainer) string {
	t.Helper()
	all, _ := filepath.Glob(filepath.Join(host.Work, sharedDir, "*"+lockSuffix))
	if len(all) == 0 {
		return ""
	}

	return strings.TrimSuffix(all[0], lockSuffix)
}
