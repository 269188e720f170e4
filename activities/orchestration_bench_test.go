//go:build integration

package activities_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/collabui/collabui/internal/method/chat"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/scripted"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/workers"
	"github.com/collabui/collabui/workflows"
)

// slowModel answers the same after a fixed latency.
type slowModel struct{ d time.Duration }

func (s slowModel) Complete(_ context.Context, r chat.Request) (chat.Response, error) {
	time.Sleep(s.d)
	out := chat.Response{}
	for range max(1, r.N) {
		out.Texts = append(out.Texts, "Reason: x\nAction: {\"action_type\":\"click\",\"index\":0}")
	}
	return out, nil
}

// service starts one local service and waits for its ready line.
func service(b *testing.B, args ...string) {
	b.Helper()
	cmd := exec.Command("../bin/collabui-local", append(args, "--parent-pipe")...)
	cmd.Env = append(os.Environ(), "COLLABUI_S3_ACCESS_KEY=bench", "COLLABUI_S3_SECRET_KEY=benchbench")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err, " (make build first)")
	}
	b.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	if !bufio.NewScanner(out).Scan() {
		b.Fatal(args[0], " did not start")
	}
}

func freeAddr(b *testing.B) string {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

type orchestra struct {
	bucket store.Bucket
	client client.Client
	runs   int
}

// prepare records a run of 200 slots with one agent and one round, so that a step costs one call.
func (o *orchestra) prepare(b *testing.B) string {
	b.Helper()
	o.runs++
	s := spec.Default()
	s.Name, s.Slots, s.Agents, s.Rounds = fmt.Sprintf("bench-%d", o.runs), 200, 1, 1
	s.Decoding.Temperatures = []float64{0.2}
	control := &activities.Control{Common: activities.Common{Bucket: o.bucket}, Suites: suites(0)}
	ctx := b.Context()
	if _, _, err := runs.Run(s.Name).Spec().Record(ctx, o.bucket, func() (spec.Spec, error) { return s, nil }); err != nil {
		b.Fatal(err)
	}
	if _, _, err := runs.Run(s.Name).Base().Record(ctx, o.bucket, func() (runs.Base, error) { return runs.Base{Policy: runs.Policy{Digest: "x"}}, nil }); err != nil {
		b.Fatal(err)
	}
	if _, err := control.PlanEpoch(ctx, activities.EpochID{Run: s.Name, Epoch: 1}); err != nil {
		b.Fatal(err)
	}
	return s.Name
}

// suites opens the scripted environment with a number of places; 0 is its default.
func suites(places int) *activities.Suites {
	return activities.NewSuites(func(envadapters.Options) (envadapters.Suite, error) {
		return &scripted.Suite{Places: places}, nil
	})
}

func (o *orchestra) activities(latency time.Duration, window int) (*activities.Rollouts, *activities.Models) {
	r := &activities.Rollouts{Suites: suites(window), Policies: slowModel{latency}}
	r.Bucket = o.bucket
	m := &activities.Models{Policies: slowModel{latency}}
	m.Bucket = o.bucket

	return r, m
}

func cpu() float64 {
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return float64(r.Utime.Sec+r.Stime.Sec) + float64(r.Utime.Usec+r.Stime.Usec)/1e6
}

// plain plays 200 episodes by a loop with a window; it records the same objects.
func (o *orchestra) plain(b *testing.B, latency time.Duration, window int) (wall, cpuSec float64) {
	run := o.prepare(b)
	rollouts, models := o.activities(latency, window)
	t, c := time.Now(), cpu()
	next := make(chan int, 200)
	for i := range 200 {
		next <- i + 1
	}
	close(next)
	var wg sync.WaitGroup
	for range window {
		wg.Go(func() {
			for slot := range next {
				if err := activities.Plain(b.Context(), rollouts, models, activities.SlotID{Run: run, Epoch: 1, Slot: slot}); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	return time.Since(t).Seconds(), cpu() - c
}

// durable plays the same through workflows and gives the history events of an episode, its part of the parent's
// included.
func (o *orchestra) durable(b *testing.B, latency time.Duration, window int) (wall, cpuSec, events float64) {
	run := o.prepare(b)
	rollouts, models := o.activities(latency, window)
	var ws []worker.Worker
	for queue, n := range map[string]int{workflows.QueueControl: 4, workflows.QueueRollout: window + workers.Prefetch, workflows.QueueModel: 4} {
		w := worker.New(o.client, queue, worker.Options{MaxConcurrentActivityExecutionSize: n})
		switch queue {
		case workflows.QueueControl:
			w.RegisterWorkflow(workflows.Shard)
			w.RegisterWorkflow(workflows.Episode)
		case workflows.QueueRollout:
			w.RegisterActivity(rollouts)
		default:
			w.RegisterActivity(models)
		}
		if err := w.Start(); err != nil {
			b.Fatal(err)
		}
		ws = append(ws, w)
	}
	defer func() {
		for _, w := range ws {
			w.Stop()
		}
	}()
	t, c := time.Now(), cpu()
	h, err := o.client.ExecuteWorkflow(b.Context(), client.StartWorkflowOptions{ID: run + "/shard", TaskQueue: workflows.QueueControl}, workflows.Shard, workflows.ShardInput{Run: run, Epoch: 1, From: 1, To: 200, Parent: run})
	if err != nil {
		b.Fatal(err)
	}
	if err := h.Get(b.Context(), nil); err != nil {
		b.Fatal(err)
	}
	wall, cpuSec = time.Since(t).Seconds(), cpu()-c
	return wall, cpuSec, float64(o.events(b, run+"/shard"))/200 + float64(o.events(b, run+"/episode/0100"))
}

func (o *orchestra) events(b *testing.B, id string) int {
	d, err := o.client.DescribeWorkflowExecution(b.Context(), id, "")
	if err != nil {
		b.Fatal(err)
	}
	return int(d.WorkflowExecutionInfo.HistoryLength)
}

// BenchmarkOrchestration compares 200 episodes of six steps through workflows with a plain loop that records the same
// objects.
func BenchmarkOrchestration(b *testing.B) {
	dir := b.TempDir()
	addr, s3 := freeAddr(b), freeAddr(b)
	service(b, "temporal", "--dir", dir, "--addr", addr, "--namespace", "collabui")
	service(b, "s3", "--dir", dir, "--addr", s3, "--bucket", "collabui")
	bucket, err := store.Open(store.Config{Endpoint: s3, Bucket: "collabui", Access: "bench", Secret: "benchbench"})
	if err != nil {
		b.Fatal(err)
	}
	c, err := client.Dial(client.Options{HostPort: addr, Namespace: "collabui", Logger: mute{}})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	o := &orchestra{bucket: bucket, client: c}
	var ratios []float64
	var events float64
	for range 5 {
		d, _, ev := o.durable(b, 50*time.Millisecond, 4)
		p, _ := o.plain(b, 50*time.Millisecond, 4)
		ratios, events = append(ratios, d/p), ev
	}
	slices.Sort(ratios)
	print := func(what string, v float64, asked string, ok bool) {
		verdict := "holds"
		if !ok {
			verdict = "FAILS"
		}
		fmt.Printf("%-86s %8.3f   asked: %-14s %s\n", what, v, asked, verdict)
	}
	print("200 episodes of 6 steps, through workflows / plain loop, window 4, 50 ms", ratios[2], "<= 1.05", ratios[2] <= 1.05)
	print("history events per episode, parent's included", events, "<= 36", events <= 36)
	for _, x := range []struct {
		window  int
		latency time.Duration
	}{{1, 50 * time.Millisecond}, {16, 50 * time.Millisecond}, {4, 0}} {
		d, dc, _ := o.durable(b, x.latency, x.window)
		p, pc := o.plain(b, x.latency, x.window)
		fmt.Printf("%-86s %8.3f   (CPU ms per episode: %.1f and %.1f)\n", fmt.Sprintf("the same, window %d, %v", x.window, x.latency), d/p, 1000*dc/200, 1000*pc/200)
	}
}

type mute struct{}

func (mute) Debug(string, ...any) {}
func (mute) Info(string, ...any)  {}
func (mute) Warn(string, ...any)  {}
func (mute) Error(string, ...any) {}
