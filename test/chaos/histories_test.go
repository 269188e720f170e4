//go:build integration && histories

package chaos

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	experimentactivities "github.com/collabui/collabui/activities/experiment"
	"github.com/collabui/collabui/activities/preflight"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/internal/experiment"
	"github.com/collabui/collabui/internal/method/retrain"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/experiments"
	"github.com/collabui/collabui/internal/records/lines"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/records/schedules"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/test/kit/fakepolicy"
	"github.com/collabui/collabui/workers"
	"github.com/collabui/collabui/workflows"
)

// TestRecordHistories plays runs that produce everything that a history can contain, and writes the histories into the
// folder that COLLABUI_SAVE_HISTORIES names: every workflow; updates, signals, timers, failed activities and child
// workflows, continue-as-new, several shards. It takes half an hour, mostly waiting: an outage must outlast all tries
// of an activity before a run waits for a timer. `make histories` runs it; COLLABUI_ONLY names one of its parts.
func TestRecordHistories(t *testing.T) {
	to := os.Getenv("COLLABUI_SAVE_HISTORIES")
	if to == "" {
		t.Fatal("COLLABUI_SAVE_HISTORIES is not set, want a folder")
	}
	c := startCell(t.Context(), t)
	r := &recorder{t, c}
	for _, part := range []struct {
		name string
		play func()
	}{
		{"preflight", r.preflight}, {"levels", r.levels}, {"scheduled", r.scheduled}, {"experiment", r.experiment},
		{"large", r.large}, {"ahead", r.ahead}, {"stopped", r.stopped}, {"steered", r.steered}, {"outage", r.outage},
	} {
		if only := os.Getenv("COLLABUI_ONLY"); only == "" || only == part.name {
			part.play()
		}
	}
	r.save(to)
}

// recorder controls runs as a person does.
type recorder struct {
	t *testing.T
	*Cell
}

// preflight checks a specification.
func (r *recorder) preflight() {
	raw, err := json.Marshal(preflight.Candidate{Spec: fakepolicy.Specification("checked")})
	if err != nil {
		r.t.Fatal(err)
	}
	ref, err := store.PutBlob(r.t.Context(), r.bucket, raw)
	if err != nil {
		r.t.Fatal(err)
	}
	o := client.StartWorkflowOptions{ID: "preflight/checked", TaskQueue: workflows.QueueControl}
	w, err := r.client.ExecuteWorkflow(r.t.Context(), o, workflows.Preflight,
		preflight.ID{Specs: []string{ref.SHA256}})
	if err == nil {
		err = w.Get(r.t.Context(), nil)
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// levels plays a run whose stage 1 has levels.
func (r *recorder) levels() {
	s := fakepolicy.Specification("levels")
	s.FineTune.Levels, s.Epochs = []int{1, 2, 3}, 1
	s.FineTune.Steps = spec.LevelSteps{
		Level1: fakepolicy.Steps, Level2: fakepolicy.Steps, Level3: fakepolicy.Steps, Preference: fakepolicy.Steps,
	}
	s.Synthesis.Screens, s.Synthesis.Pairs = 12, 30
	r.start(s)
	r.end(s.Name)
}

// large plays a run of three shards. One of its slots cannot be graded until a person removes a damaged object, and the
// run is paused and resumed.
func (r *recorder) large() {
	s := fakepolicy.Specification("large")
	s.Slots, s.Epochs = 2*rules.ShardSize+20, 1
	credit := runs.Run(s.Name).Credits(1, 3).Key
	if _, err := r.bucket.PutOnce(r.t.Context(), credit, []byte("damaged")); err != nil {
		r.t.Fatal(err)
	}
	r.start(s)
	r.until(s.Name, "it is held", func(st workflows.Status) bool { return st.Held })
	if err := os.Remove(filepath.Join(r.pipeline.Dir, "s3", "collabui", credit)); err != nil {
		r.t.Fatal(err)
	}
	r.update(s.Name, workflows.UpdateResume)
	time.Sleep(3 * time.Second)
	r.update(s.Name, workflows.UpdatePause)
	time.Sleep(5 * time.Second)
	r.update(s.Name, workflows.UpdateResume)
	r.end(s.Name)
}

// ahead plays a run whose epochs roll out beside the updates and the evaluation of the previous epoch.
func (r *recorder) ahead() {
	s := fakepolicy.Specification("ahead")
	s.Epochs, s.Staleness, s.Gates.MaxValDrop = 4, 1, 1
	r.start(s)
	r.end(s.Name)
}

// stopped stops a run in its first epoch.
func (r *recorder) stopped() {
	s := fakepolicy.Specification("stopped")
	s.Slots = 30
	r.start(s)
	r.until(s.Name, "an epoch", func(st workflows.Status) bool { return st.Stage == workflows.StageEpoch })
	r.update(s.Name, workflows.UpdateStop)
}

// steered changes values of a run in its first epoch, which ends when its open episodes have ended. The run continues,
// stops after that epoch, and then continues to its end.
func (r *recorder) steered() {
	s := fakepolicy.Specification("steered")
	s.Slots, s.Epochs, s.Decoding.Temperatures = 2*workflows.Window, 3, []float64{0.5}
	r.start(s)
	epoch := func(st workflows.Status) bool { return st.Stage == workflows.StageEpoch }
	r.until(s.Name, "an epoch", epoch)
	command := workflows.Command{Who: "a test", Why: "for the history"}
	r.send(s.Name, workflows.UpdateSet, workflows.SetCommand{
		Command: command, Values: map[string]string{"slots": "40", "train.beta": "0.5"},
	})
	for _, after := range []workflows.After{workflows.AfterEpisodes, workflows.AfterEpoch} {
		r.until(s.Name, "an epoch", epoch)
		command.After = after
		r.send(s.Name, workflows.UpdateStop, command)
		if err := r.client.GetWorkflow(r.t.Context(), s.Name, "").Get(r.t.Context(), nil); err == nil {
			r.t.Fatal("the run ended with success, want it stopped")
		}
		if err := r.begin(r.t.Context(), s.Name); err != nil {
			r.t.Fatal(err)
		}
	}
	r.end(s.Name)
}

// scheduled lets a schedule fire: first with new tasks, whose system is rejected, then without anything new, and then
// with a check for drift that finds no drift.
func (r *recorder) scheduled() {
	s := fakepolicy.Specification("first")
	s.Decoding.Temperatures = []float64{0.5}
	s.Environments = map[string]envadapters.Options{"webtasks": {Without: []string{"g"}}}
	r.start(s)
	r.end(s.Name)
	system, err := lines.Find(r.t.Context(), r.bucket, s.Name, -1)
	if err != nil {
		r.t.Fatal(err)
	}
	first := lines.Entry{Verb: lines.Promote, System: system, Who: "a test", Why: "for the history"}
	if _, err := lines.Line("mobile").Append(r.t.Context(), r.bucket, 0, first); err != nil {
		r.t.Fatal(err)
	}

	x := retrain.Default()
	x.Name, x.Line, x.Environment, x.When.Every, x.When.CatchUp = "hourly", "mobile", "webtasks", "1h", "10m"
	x.Gate.Episodes, x.Drift.Episodes = 20, 20
	r.fires(x, 1)
	r.fires(x, 2)
	x.Environments = map[string]envadapters.Options{"webtasks": {Without: []string{"a", "g"}}}
	r.fires(x, 3)
}

// experiment plays an experiment with a fork, a run that shares the base policy, and an imitation control.
func (r *recorder) experiment() {
	const split = domain.SplitTestSeeds
	x := experiment.Experiment{
		Name: "x", About: "for the history", Spec: fakepolicy.Specification("x"), Seeds: 2,
		Episodes: map[string]int{split: 4},
		Arms: []experiment.Arm{
			{Name: "full", Set: map[string]string{"decoding.temperatures": "[0.5]"}},
			{Name: "rft", Set: map[string]string{"preference": "rft", "decoding.temperatures": "[0.5]"}},
			{Name: "one", Set: map[string]string{"agents": "1", "rounds": "1", "decoding.temperatures": "[0.5]"}},
		},
		Contrasts: []experiment.Contrast{
			{Of: "full/trained", Minus: "full/imitation", Split: split},
			{Of: "full/trained-shuffled", Minus: "rft/trained", Split: split},
			{Of: "one/trained", Minus: "one/base", Split: split},
		},
	}
	v, err := experiments.Declare(r.t.Context(), r.bucket, x, "a test", time.Now())
	if err != nil {
		r.t.Fatal(err)
	}
	o := client.StartWorkflowOptions{ID: workflows.ExperimentWorkflowID(x.Name), TaskQueue: workflows.QueueControl}
	w, err := r.client.ExecuteWorkflow(r.t.Context(), o, workflows.Experiment,
		workflows.ExperimentInput{ID: experimentactivities.ID{Name: x.Name, Version: v.Number}})
	if err == nil {
		err = w.Get(r.t.Context(), nil)
	}
	if err != nil {
		r.t.Fatalf("the experiment ends with %v, want no error", err)
	}
}

// fires triggers a schedule and waits until n of its firings have ended.
func (r *recorder) fires(x retrain.Schedule, n int) {
	r.t.Helper()
	v, err := schedules.Append(r.t.Context(), r.bucket, schedules.Version{Schedule: x, Who: "a test"})
	if err == nil {
		err = workers.PutSchedule(r.t.Context(), r.client, v)
	}
	if err == nil {
		time.Sleep(2 * time.Second) // firings are named by the second
		err = r.client.ScheduleClient().GetHandle(r.t.Context(), x.Name).Trigger(r.t.Context(),
			client.ScheduleTriggerOptions{})
	}
	if err != nil {
		r.t.Fatal(err)
	}
	for range 10 * 60 {
		all, err := schedules.Schedule(x.Name).Outcomes(r.t.Context(), r.bucket)
		if err == nil && len(all) == n {
			if all[n-1].Verb == schedules.VerbFailed {
				r.t.Fatalf("schedule %s: %+v, want a firing without an error", x.Name, all[n-1])
			}
			time.Sleep(2 * time.Second) // until the workflow has ended

			return
		}
		time.Sleep(500 * time.Millisecond)
	}
	r.t.Fatalf("schedule %s: want %d firings to end", x.Name, n)
}

// outage takes the store away for longer than all tries of an activity. The run waits for a timer, until a person
// resumes it.
func (r *recorder) outage() {
	s := fakepolicy.Specification("outage")
	s.Slots = 30
	r.start(s)
	r.until(s.Name, "an epoch", func(st workflows.Status) bool { return st.Stage == workflows.StageEpoch })
	r.s3tcp.refuseFor(time.Hour)
	r.until(s.Name, "it waits", func(st workflows.Status) bool { return st.Paused && !st.Held })
	r.s3tcp.refuseFor(0)
	r.update(s.Name, workflows.UpdateResume)
	r.end(s.Name)
}

func (r *recorder) start(s spec.Spec) {
	if _, _, err := runs.Run(s.Name).Spec().Record(r.t.Context(), r.bucket, constant(s)); err != nil {
		r.t.Fatal(err)
	}
	r.env = nil
	if err := r.supervise(); err != nil {
		r.t.Fatal(err)
	}
	if err := r.begin(r.t.Context(), s.Name); err != nil {
		r.t.Fatal(err)
	}
}

// until waits for a state of a run.
func (r *recorder) until(name, what string, ok func(workflows.Status) bool) {
	r.t.Helper()
	for range 60 * 60 {
		var st workflows.Status
		v, err := r.client.QueryWorkflow(r.t.Context(), name, "", workflows.QueryStatus)
		if err == nil && v.Get(&st) == nil && ok(st) {
			return
		}
		time.Sleep(500 * time.Millisecond)
	}
	r.t.Fatalf("run %s: want: %s; %s", name, what, r.status(r.t.Context(), name))
}

func (r *recorder) update(name, update string) {
	r.t.Helper()
	r.send(name, update, workflows.Command{Who: "a test", Why: "for the history"})
}

func (r *recorder) send(name, update string, command any) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	defer cancel()
	h, err := r.client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: name, UpdateName: update, WaitForStage: client.WorkflowUpdateStageCompleted,
		Args: []any{command},
	})
	if err == nil {
		err = h.Get(ctx, nil)
	}
	if err != nil {
		r.t.Fatalf("%s %s: got %v, want success", update, name, err)
	}
}

func (r *recorder) end(name string) {
	r.t.Helper()
	for range 10 * 60 {
		if r.finalDigest(r.t.Context(), name) != "" {
			return
		}
		time.Sleep(500 * time.Millisecond)
	}
	r.t.Fatalf("run %s did not end, want it to; %s", name, r.status(r.t.Context(), name))
}

// save writes histories: all histories of runs, epochs and firings, and two of each run's other workflows, including a
// failed one if there is any.
func (r *recorder) save(to string) {
	thousand := &workflowservice.ListWorkflowExecutionsRequest{PageSize: 1000}
	executions, err := r.client.ListWorkflow(r.t.Context(), thousand)
	if err != nil {
		r.t.Fatal(err)
	}
	host, err := os.Hostname()
	if err != nil {
		r.t.Fatal(err)
	}
	saved := map[string]int{}
	for _, x := range executions.Executions {
		run, _, _ := strings.Cut(x.Execution.WorkflowId, "/")
		name := x.Type.Name + "-" + run
		if x.Status == enums.WORKFLOW_EXECUTION_STATUS_FAILED {
			name += "-failed"
		}
		all := []string{"Run", "Rollouts", "Retrain"}
		if saved[name]++; saved[name] > 1 && !slices.Contains(all, x.Type.Name) {
			continue
		}
		var h historypb.History
		events := r.client.GetWorkflowHistory(r.t.Context(), x.Execution.WorkflowId, x.Execution.RunId, false, 0)
		for events.HasNext() {
			e, err := events.Next()
			if err != nil {
				r.t.Fatal(err)
			}
			h.Events = append(h.Events, e)
		}
		raw, err := temporalproto.CustomJSONMarshalOptions{}.Marshal(&h)
		if err != nil {
			r.t.Fatal(err)
		}
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		_, _ = z.Write(bytes.ReplaceAll(raw, []byte(host), []byte("host"))) // a write to memory
		_ = z.Close()
		file := filepath.Join(to, fmt.Sprintf("%s-%d.json.gz", name, saved[name]))
		if err := os.WriteFile(file, packed.Bytes(), 0o644); err != nil {
			r.t.Fatal(err)
		}
	}
}
