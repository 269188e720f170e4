//go:build integration

package scale

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/collabui/collabui/activities/lifecycle"
	"github.com/collabui/collabui/internal/care/verify"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/test/kit/pipeline"
	"github.com/collabui/collabui/workflows"
)

// size returns a number from the environment, so that a short form can be tried, or usual.
func size(name string, usual int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}

	return usual
}

// allowed is the factor by which an episode of a large epoch may cost more than an episode of a small epoch.
const allowed = 1.1

// TestAnEpisodeCostsTheSameInALargeEpoch compares epochs of 500 and of 10,000 episodes on fresh services: wall time and
// processor time per episode, and the memory of every process.
func TestAnEpisodeCostsTheSameInALargeEpoch(t *testing.T) {
	small, large := size("SCALE_SMALL", 500), size("SCALE_LARGE", 10000)
	smallCost := playEpoch(t, small)
	many := playEpoch(t, large)

	fmt.Printf("\n| per episode | %d episodes | %d episodes | ratio |\n|---|---|---|---|\n", small, large)
	row := func(what string, a, b float64, unit string) {
		a, b = a/float64(small), b/float64(large)
		fmt.Printf("| %s | %.1f %s | %.1f %s | %.2f |\n", what, a, unit, b, unit, b/a)
		if b > allowed*a {
			t.Errorf("%s per episode: got %.1f %s, want at most %.1f times %.1f", what, b, unit, allowed, a)
		}
	}
	row("wall time", smallCost.wall*1000, many.wall*1000, "ms")
	for _, name := range processes {
		row("CPU of "+name, smallCost.cpu[name]*1000, many.cpu[name]*1000, "ms")
	}
	for _, name := range processes {
		fmt.Printf("| memory of %s at 25, 50, 75, 100 %% | %s | %s | |\n",
			name, smallCost.quarters(name), many.quarters(name))
	}
	fmt.Printf("| longest history | %d | %d | |\n", smallCost.events, many.events)
	if many.events >= maxEvents {
		t.Errorf("the longest history has %d events, want below %d", many.events, maxEvents)
	}
}

// maxEvents bounds every history: Temporal warns at 10,240 events.
const maxEvents = 10_000

// playEpoch plays one epoch on fresh services.
func playEpoch(t *testing.T, slots int) cost {
	p := start(t)
	defer p.pipeline.Close()

	return p.play(slots, 0)
}

// play plays one epoch. window is the number of slots of a shard that are open at a time; 0 is the program's default.
func (p *measured) play(slots, window int) cost {
	p.t.Helper()
	s := specification(fmt.Sprintf("scale-%d", slots), slots, 2)
	p.record(s)

	// The plan has one epoch more, so that none is the last, which would be evaluated.
	in := workflows.RolloutsInput{Run: s.Name, Epoch: 1, Plan: lifecycle.Plan{
		Environment: s.Environment, Agents: s.Agents, Epochs: 2, Slots: slots, EvalEvery: 2, FailedShare: s.FailedShare,
		Window: window,
	}}
	id := s.Name + "/epoch/0001"
	before := p.measure()
	run, err := p.client.ExecuteWorkflow(p.t.Context(),
		client.StartWorkflowOptions{ID: id, TaskQueue: workflows.QueueControl}, workflows.Rollouts, in)
	if err != nil {
		p.t.Fatal(err)
	}
	p.watch(func() error { return run.Get(p.t.Context(), nil) })

	return p.since(before)
}

// TestAnEpochCostsTheSameLateInALongRun compares the first 500 epochs of a run of 2,000 with the last 500.
func TestAnEpochCostsTheSameLateInALongRun(t *testing.T) {
	epochs := size("SCALE_EPOCHS", 2000)
	part := epochs / 4
	p := start(t)
	defer p.pipeline.Close()
	s := specification("scale-run", 4, epochs)
	s.Evaluation.Every, s.Evaluation.Val = 10, 2
	s.Evaluation.TestSeeds, s.Evaluation.TestTemplates, s.Evaluation.TestApps = 2, 0, 0
	p.record(s)

	run, err := p.client.ExecuteWorkflow(t.Context(),
		client.StartWorkflowOptions{ID: s.Name, TaskQueue: workflows.QueueControl}, workflows.Run,
		workflows.RunInput{Name: s.Name})
	if err != nil {
		t.Fatal(err)
	}
	p.reach(s.Name, 1)
	marks := []cost{p.measure()}
	for i := 1; i <= 4; i++ {
		if i < 4 {
			p.reach(s.Name, i*part)
		} else if err := run.Get(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		marks = append(marks, p.measure())
	}

	fmt.Printf("\n| per epoch of 4 episodes, epochs | wall | %s | memory (MB) |\n|---|---|%s---|\n",
		strings.Join(processes, " | "), strings.Repeat("---|", len(processes)))
	perEpoch := func(i int) (wall float64, cpus []float64) {
		n := float64(part)
		if i == 1 {
			n--
		}
		for _, name := range processes {
			cpus = append(cpus, 1000*(marks[i].cpu[name]-marks[i-1].cpu[name])/n)
		}

		return 1000 * (marks[i].wall - marks[i-1].wall) / n, cpus
	}
	for i := 1; i <= 4; i++ {
		wall, cpus := perEpoch(i)
		fmt.Printf("| %d to %d | %.0f ms |", (i-1)*part+1, i*part, wall)
		for _, c := range cpus {
			fmt.Printf(" %.0f ms |", c)
		}
		for _, name := range processes {
			fmt.Printf(" %s %.0f", name, marks[i].memory[name])
		}
		fmt.Println(" |")
	}
	first, firsts := perEpoch(1)
	last, lasts := perEpoch(4)
	for i, name := range append([]string{"wall"}, processes...) {
		a, b := append([]float64{first}, firsts...)[i], append([]float64{last}, lasts...)[i]
		if b > allowed*a {
			t.Errorf("%s per epoch: got %.0f ms in the last quarter, want at most %.1f times %.0f", name, b, allowed, a)
		}
	}
	if n := p.longest(); n >= maxEvents {
		t.Errorf("the longest history has %d events, want below %d", n, maxEvents)
	}
}

// specification is a run of the scripted environment with the default agents, rounds and pairs.
func specification(name string, slots, epochs int) spec.Spec {
	s := spec.Default()
	s.Name, s.Slots, s.Epochs = name, slots, epochs
	s.Pairs.Kind, s.Pairs.MinPairs = spec.PairsCorrection, 1

	return s
}

// record writes the specification of a run and its base policy, so that it begins with its first epoch.
func (p *measured) record(s spec.Spec) {
	ctx, run := p.t.Context(), runs.Run(s.Name)
	if _, _, err := run.Spec().Record(ctx, p.bucket, func() (spec.Spec, error) { return s, nil }); err != nil {
		p.t.Fatal(err)
	}
	base, err := pipeline.PutPolicy(ctx, p.bucket, "base")
	if err != nil {
		p.t.Fatal(err)
	}
	given := func() (runs.Base, error) { return runs.Base{Policy: base}, nil }
	if _, _, err := run.Base().Record(ctx, p.bucket, given); err != nil {
		p.t.Fatal(err)
	}
}

// train plays a run to its end.
func (p *measured) train(s spec.Spec) {
	p.t.Helper()
	p.record(s)
	run, err := p.client.ExecuteWorkflow(p.t.Context(),
		client.StartWorkflowOptions{ID: s.Name, TaskQueue: workflows.QueueControl}, workflows.Run,
		workflows.RunInput{Name: s.Name})
	if err != nil {
		p.t.Fatal(err)
	}
	p.watch(func() error { return run.Get(p.t.Context(), nil) })
}

// reach waits until a run has committed an epoch.
func (p *measured) reach(run string, epoch int) {
	for {
		exists, err := runs.Run(run).Epoch(epoch).Exists(p.t.Context(), p.bucket)
		if err != nil {
			p.t.Fatal(err)
		}
		if exists {
			return
		}
		p.sample()
		time.Sleep(time.Second)
	}
}

// longest returns the number of events of the longest history.
func (p *measured) longest() int {
	longest := 0
	var token []byte
	for {
		r, err := p.client.ListWorkflow(p.t.Context(), &workflowservice.ListWorkflowExecutionsRequest{
			PageSize: 1000, NextPageToken: token,
		})
		if err != nil {
			p.t.Fatal(err)
		}
		for _, x := range r.Executions {
			longest = max(longest, int(x.HistoryLength))
		}
		if token = r.NextPageToken; len(token) == 0 {
			return longest
		}
	}
}

// quarters returns the memory of a process in MB after each quarter of the time.
func (c cost) quarters(name string) string {
	series := c.series[name]
	if len(series) == 0 {
		return ""
	}
	var out []string
	for q := 1; q <= 4; q++ {
		out = append(out, fmt.Sprintf("%.0f", series[max(0, q*len(series)/4-1)]))
	}

	return strings.Join(slices.Clip(out), " ") + " MB"
}

// fsckRate is the number of objects per second that fsck must verify, reading the files of the local store.
const fsckRate = 5000

// TestFsckIsFast verifies the store of an epoch of 1,000 episodes, and everything that the run promises.
func TestFsckIsFast(t *testing.T) {
	p := start(t)
	defer p.pipeline.Close()
	s := specification("scale-fsck", size("SCALE_FSCK", 1000), 1)
	s.Evaluation.Val, s.Evaluation.TestSeeds, s.Evaluation.TestTemplates, s.Evaluation.TestApps = 2, 1, 0, 0
	p.train(s)

	files := store.Files{Dir: filepath.Join(p.pipeline.Dir, "s3", "collabui")}
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // as the command does
	for _, b := range []struct {
		name   string
		bucket store.Bucket
		least  float64
	}{{"files", files, fsckRate}, {"S3", p.bucket, 0}} {
		began := time.Now()
		report, err := verify.Fsck(t.Context(), b.bucket)
		if err != nil {
			t.Fatal(err)
		}
		read := time.Since(began)
		problems, err := verify.Run(t.Context(), b.bucket, s.Name)
		if err != nil || len(problems)+len(report.Problems) > 0 {
			t.Fatalf("got the problems %v %v and error %v, want none", problems, report.Problems, err)
		}
		took := time.Since(began)
		rate := float64(report.Objects) / took.Seconds()
		fmt.Printf("| fsck by %s | %d objects, %d MB | %.1f s, of which %.1f s for hashes and references | %.0f/s |\n",
			b.name, report.Objects, report.Bytes>>20, took.Seconds(), read.Seconds(), rate)
		if rate < b.least {
			t.Errorf("fsck by %s: got %.0f objects per second, want at least %.0f", b.name, rate, b.least)
		}
	}
}
