//go:build integration

package roles_test

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

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/activities/lifecycle"
	"github.com/collabui/collabui/activities/play"
	"github.com/collabui/collabui/activities/roles"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/scripted"
	"github.com/collabui/collabui/internal/config"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/observe/logging"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/workers"
	"github.com/collabui/collabui/workers/catalog"
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
	cmd := exec.Command("../../bin/collabui-local", append(args, "--parent-pipe")...)
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
		b.Fatalf("start %s: %v; want it built: make build", args[0], err)
	}

	b.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	if !bufio.NewScanner(out).Scan() {
		b.Fatalf("%s ended, want a line that it is ready", args[0])
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

// orchestra plays the same episodes in both ways.
type orchestra struct {
	bucket store.Bucket
	client client.Client
	runs   int // prepared so far
}

// prepare records a run of 200 slots with one agent and one round, so that a step costs one call.
func (o *orchestra) prepare(b *testing.B) string {
	b.Helper()
	o.runs++
	s := spec.Default()
	s.Name, s.Slots, s.Agents, s.Rounds = fmt.Sprintf("bench-%d", o.runs), 200, 1, 1
	s.Decoding.Temperatures = []float64{0.2}
	control := o.dependencies(0, 0).Control()
	ctx := b.Context()

	given := func() (spec.Spec, error) { return s, nil }
	if _, _, err := runs.Run(s.Name).Spec().Record(ctx, o.bucket, given); err != nil {
		b.Fatal(err)
	}
	base := func() (runs.Base, error) { return runs.Base{Policy: runs.Policy{Digest: "x"}}, nil }
	if _, _, err := runs.Run(s.Name).Base().Record(ctx, o.bucket, base); err != nil {
		b.Fatal(err)
	}
	if _, err := control.PlanRun(ctx, lifecycle.RunID{Run: s.Name}); err != nil {
		b.Fatal(err)
	}
	if _, err := control.PlanEpoch(ctx, activities.EpochID{Run: s.Name, Epoch: 1}); err != nil {
		b.Fatal(err)
	}

	return s.Name
}

// suites opens the scripted environment with a number of places; 0 is its default.
func suites(places int) *play.Suites {
	return play.NewSuites(func(envadapters.Options) (envadapters.Suite, error) {
		return &scripted.Suite{Places: places}, nil
	})
}

// dependencies returns the dependencies of activities whose environment has a number of places, and whose model has a
// latency.
func (o *orchestra) dependencies(latency time.Duration, window int) roles.Dependencies {
	return roles.Dependencies{
		Common: activities.Common{
			Bucket: o.bucket, Catalog: catalog.All{}, Runs: activities.NewRuns(o.bucket, ""),
		},
		Suites: suites(window), Policies: slowModel{latency},
	}
}

// cpu is the processor time of this process in seconds.
func cpu() float64 {
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r)

	return float64(r.Utime.Sec+r.Stime.Sec) + float64(r.Utime.Usec+r.Stime.Usec)/1e6
}

// cost is what 200 episodes took.
type cost struct {
	wall, cpu float64 // seconds
	events    float64 // history events per episode, its part of the parent's included
}

// modelSlots is how many episodes are labelled and paired at once.
const modelSlots = 4

// plain plays 200 episodes by loops that record the same objects and do as much at once as the workers of durable.
func (o *orchestra) plain(b *testing.B, latency time.Duration, window int) cost {
	b.Helper()
	run := o.prepare(b)
	shared := o.dependencies(latency, window)
	rollouts := shared.Rollouts()
	models := shared.Models()
	t, c := time.Now(), cpu()
	next, played := make(chan activities.SlotID, 200), make(chan activities.SlotID, 200)
	for i := range 200 {
		next <- activities.SlotID{Run: run, Epoch: 1, Slot: i + 1}
	}
	close(next)

	var players, others sync.WaitGroup
	for range window + workers.Prefetch {
		players.Go(func() {
			for id := range next {
				if _, err := rollouts.Rollout(b.Context(), id); err != nil {
					b.Error(err)
				}
				played <- id
			}
		})
	}
	for range modelSlots {
		others.Go(func() {
			for id := range played {
				if _, err := models.CreditAndPairing(b.Context(), id); err != nil {
					b.Error(err)
				}
			}
		})
	}
	players.Wait()
	close(played)
	others.Wait()

	return cost{wall: time.Since(t).Seconds(), cpu: cpu() - c}
}

// durable plays the same through workflows.
func (o *orchestra) durable(b *testing.B, latency time.Duration, window int) cost {
	b.Helper()
	run := o.prepare(b)
	defer o.workers(b, latency, window)()

	t, c := time.Now(), cpu()
	shard := client.StartWorkflowOptions{ID: run + "/shard", TaskQueue: workflows.QueueControl}
	in := workflows.ShardInput{Run: run, Epoch: 1, From: 1, To: 200}
	h, err := o.client.ExecuteWorkflow(b.Context(), shard, workflows.Shard, in)
	if err == nil {
		err = h.Get(b.Context(), nil)
	}
	if err != nil {
		b.Fatal(err)
	}
	out := cost{wall: time.Since(t).Seconds(), cpu: cpu() - c}
	out.events = float64(o.events(b, shard.ID)) / 200

	return out
}

// workers starts the workers of all queues and returns what stops them.
func (o *orchestra) workers(b *testing.B, latency time.Duration, window int) (stop func()) {
	b.Helper()
	shared := o.dependencies(latency, window)
	rollouts := shared.Rollouts()
	models := shared.Models()
	start := func(queue string, activities int, register func(worker.Worker)) worker.Worker {
		w := worker.New(o.client, queue, worker.Options{MaxConcurrentActivityExecutionSize: activities})
		register(w)
		if err := w.Start(); err != nil {
			b.Fatal(err)
		}

		return w
	}

	all := []worker.Worker{
		start(workflows.QueueControl, 4, func(w worker.Worker) {
			w.RegisterWorkflow(workflows.Shard)
		}),
		start(workflows.QueueRollout, window+workers.Prefetch, func(w worker.Worker) { w.RegisterActivity(rollouts) }),
		start(workflows.QueueModel, modelSlots, func(w worker.Worker) { w.RegisterActivity(models) }),
	}

	return func() {
		for _, w := range all {
			w.Stop()
		}
	}
}

func (o *orchestra) events(b *testing.B, id string) int {
	b.Helper()
	description, err := o.client.DescribeWorkflow(b.Context(), id, "")
	if err != nil {
		b.Fatal(err)
	}

	return int(description.RawResponse.WorkflowExecutionInfo.HistoryLength)
}

// newOrchestra starts Temporal and S3.
func newOrchestra(b *testing.B) *orchestra {
	b.Helper()
	dir := b.TempDir()
	addr, s3 := freeAddr(b), freeAddr(b)
	service(b, "temporal", "--dir", dir, "--addr", addr, "--namespace", "collabui")
	service(b, "s3", "--dir", dir, "--addr", s3, "--bucket", "collabui")

	bucket, err := store.Open(store.Config{
		Endpoint: s3,
		Bucket:   "collabui",
		Access:   "bench",
		Secret:   "benchbench",
	})
	if err != nil {
		b.Fatal(err)
	}
	options, err := workers.ClientOptions(config.Endpoints{Temporal: addr, Namespace: "collabui"}, logging.Silent())
	if err != nil {
		b.Fatal(err)
	}
	c, err := client.Dial(options)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(c.Close)

	return &orchestra{bucket: bucket, client: c}
}

// BenchmarkOrchestration compares 200 episodes of six steps through workflows with plain loops that record the same
// objects and do as much at once.
func BenchmarkOrchestration(b *testing.B) {
	const latency = 50 * time.Millisecond
	o := newOrchestra(b)
	var ratios []float64
	var events float64
	for range 5 {
		d, p := o.durable(b, latency, 4), o.plain(b, latency, 4)
		ratios, events = append(ratios, d.wall/p.wall), d.events
	}
	slices.Sort(ratios)
	line("200 episodes of 6 steps, through workflows / plain loops, window 4, 50 ms", ratios[2], 1.02)
	line("history events per episode", events, 15)

	for _, x := range []struct {
		window  int
		latency time.Duration
	}{
		{window: 1, latency: latency},
		{window: 16, latency: latency},
		{window: 4, latency: 0},
	} {
		d, p := o.durable(b, x.latency, x.window), o.plain(b, x.latency, x.window)
		fmt.Printf("%-86s %8.3f   (CPU ms per episode: %.1f and %.1f)\n",
			fmt.Sprintf("the same, window %d, %v", x.window, x.latency), d.wall/p.wall, 1000*d.cpu/200, 1000*p.cpu/200)
	}
}

// line prints one figure next to the most that is asked of it.
func line(what string, value, most float64) {
	verdict := "holds"
	if value > most {
		verdict = "FAILS"
	}
	fmt.Printf("%-86s %8.3f   asked: %-14s %s\n", what, value, fmt.Sprint("<= ", most), verdict)
}
