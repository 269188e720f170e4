//go:build integration

package scale

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/scripted"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/policy/endpoints"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/test/kit/fakepolicy"
	"github.com/collabui/collabui/trainer"
	"github.com/collabui/collabui/workers/catalog"
	"github.com/collabui/collabui/workflows"
)

// processes are the processes that are measured.
var processes = []string{"worker", "temporal", "s3"}

// pipeline is Temporal, S3 and a worker, each in a process of its own.
type pipeline struct {
	t      *testing.T
	client client.Client
	bucket store.Bucket
	began  time.Time
	ends   []func()
	pids   map[string]int
	series map[string][]float64
}

// keyAccess and keySecret are the keys of the S3 server, which is gone after the test.
const keyAccess, keySecret = "scale", "scalescale"

// workerEnv tells this program to be the worker: the addresses of Temporal and S3.
const workerEnv = "COLLABUI_SCALE_WORKER"

func TestMain(m *testing.M) {
	if at := os.Getenv(workerEnv); at != "" {
		if err := work(at); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}

		return
	}
	os.Exit(m.Run())
}

func start(t *testing.T) *pipeline {
	t.Helper()
	p := &pipeline{t: t, pids: map[string]int{}, series: map[string][]float64{}, began: time.Now()}
	dir := t.TempDir()
	addr, s3 := freeAddr(t), freeAddr(t)
	local := "../../bin/collabui-local"
	p.process("temporal", local, nil,
		"temporal", "--dir", dir, "--addr", addr, "--namespace", "collabui", "--parent-pipe")
	keys := []string{"COLLABUI_S3_ACCESS_KEY=" + keyAccess, "COLLABUI_S3_SECRET_KEY=" + keySecret}
	p.process("s3", local, keys, "s3", "--dir", dir, "--addr", s3, "--bucket", "collabui", "--parent-pipe")

	var err error
	if p.bucket, err = openBucket(s3); err != nil {
		t.Fatal(err)
	}
	p.client, err = dial(addr)
	if err != nil {
		t.Fatal(err)
	}
	p.ends = append(p.ends, p.client.Close)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p.process("worker", self, []string{workerEnv + "=" + addr + " " + s3})

	return p
}

// process starts a program and waits for its first line.
func (p *pipeline) process(name, program string, env []string, args ...string) {
	p.t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Env, cmd.Stderr = append(os.Environ(), env...), os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		p.t.Fatalf("start %s: %v; want it built: make build", name, err)
	}
	p.pids[name] = cmd.Process.Pid
	p.ends = append(p.ends, func() { _ = in.Close(); _ = cmd.Process.Signal(syscall.SIGTERM); _ = cmd.Wait() })
	if !bufio.NewScanner(out).Scan() {
		p.t.Fatalf("%s ended, want a line that it is ready", name)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
}

func (p *pipeline) stop() {
	for i := len(p.ends) - 1; i >= 0; i-- {
		p.ends[i]()
	}
}

func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()

	return l.Addr().String()
}

func openBucket(addr string) (store.Bucket, error) {
	return store.Open(store.Config{Endpoint: addr, Bucket: "collabui", Access: keyAccess, Secret: keySecret})
}

func dial(addr string) (client.Client, error) {
	quiet := log.NewStructuredLogger(slog.New(slog.DiscardHandler))

	return client.Dial(client.Options{HostPort: addr, Namespace: "collabui", Logger: quiet})
}

// cost is what processes took since they began.
type cost struct {
	wall   float64            // seconds
	cpu    map[string]float64 // seconds by process
	memory map[string]float64 // MB by process
	series map[string][]float64
	events int // of the longest history
}

// measure returns what everything took so far.
func (p *pipeline) measure() cost {
	c := cost{wall: time.Since(p.began).Seconds(), cpu: map[string]float64{}, memory: map[string]float64{}}
	for name, pid := range p.pids {
		c.cpu[name], c.memory[name] = usage(p.t, pid)
	}

	return c
}

// sample notes the memory of every process.
func (p *pipeline) sample() {
	for name, mb := range p.measure().memory {
		p.series[name] = append(p.series[name], mb)
	}
}

// watch samples until done returns.
func (p *pipeline) watch(done func() error) {
	end := make(chan error, 1)
	go func() { end <- done() }()
	for {
		select {
		case err := <-end:
			if err != nil {
				p.t.Fatal(err)
			}

			return
		case <-time.After(time.Second):
			p.sample()
		}
	}
}

// since returns what was taken since an earlier measurement.
func (p *pipeline) since(before cost) cost {
	now := p.measure()
	now.wall -= before.wall
	for name := range now.cpu {
		now.cpu[name] -= before.cpu[name]
	}
	now.series, now.events = p.series, p.longest()

	return now
}

// usage returns the processor time of a process in seconds and its own resident memory, without mapped files, in MB.
func usage(t *testing.T, pid int) (cpu, mb float64) {
	t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+2:]))
	_, anonymous, _ := strings.Cut(string(status), "RssAnon:")
	var user, system, kb float64
	if _, err := fmt.Sscan(fields[11]+" "+fields[12]+" "+anonymous, &user, &system, &kb); err != nil {
		t.Fatal(err)
	}
	const ticks = 100 // per second, on every Linux that Go runs on

	return (user + system) / ticks, kb / 1024
}

// work is a worker of all roles on fakes, with the concurrency of a machine with two cores.
func work(at string) error {
	addr, s3, _ := strings.Cut(at, " ")
	bucket, err := openBucket(s3)
	if err != nil {
		return err
	}
	c, err := dial(addr)
	if err != nil {
		return err
	}
	defer c.Close()

	common := func() activities.Common { return activities.Common{Bucket: bucket, Catalog: catalog.All{}} }
	suites := activities.NewSuites(func(envadapters.Options) (envadapters.Suite, error) {
		return &scripted.Suite{Places: 3}, nil
	})
	wording := activities.Wording{
		Render: fakepolicy.Render, Fits: func(string, string) bool { return true }, Over: func(string) int { return 0 },
	}
	model, e := fakepolicy.Policies{}, &endpoints.Endpoints{Bucket: bucket}
	types := map[string]any{
		workflows.QueueControl: &activities.Control{Common: common(), Suites: suites},
		workflows.QueueRollout: &activities.Rollouts{
			Common: common(), Suites: suites, Policies: model, Endpoints: e, Wording: wording,
		},
		workflows.QueueModel: &activities.Models{
			Common: common(), Policies: model, Scores: model, Endpoints: e, Wording: wording,
		},
		workflows.QueueGPU: &activities.GPU{
			Common: common(), Policies: model, Scores: model, Threads: 1,
			Trainers: map[string]trainer.Trainer{spec.Embedded: trains{bucket}},
			Load:     func(context.Context, string, int) error { return nil },
		},
	}
	for queue, kind := range types {
		w := worker.New(c, queue, worker.Options{
			MaxConcurrentActivityExecutionSize: 4, DisableWorkflowWorker: queue != workflows.QueueControl,
		})
		if queue == workflows.QueueControl {
			for _, f := range workflows.All {
				w.RegisterWorkflow(f)
			}
		}
		w.RegisterActivity(kind)
		if err := w.Start(); err != nil {
			return err
		}
		defer w.Stop()
	}
	fmt.Println("ready")
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM)
	<-end

	return nil
}

// trains is a trainer whose policies are named by their jobs.
type trains struct{ bucket store.Bucket }

func (x trains) Train(ctx context.Context, j trainer.Job, say trainer.Progress) (trainer.Result, error) {
	policy, err := putPolicy(ctx, x.bucket, j.ID)
	say(domain.TrainPoint{Step: 1, Steps: 1, Loss: 1})

	return trainer.Result{Digest: policy.Digest, TensorDigest: policy.Tensor, Steps: 1}, err
}

func (x trains) Adopt(context.Context, string, json.RawMessage) (trainer.Result, error) {
	return trainer.Result{}, fmt.Errorf("scale: nothing is adopted")
}

// putPolicy writes a policy of a few bytes.
func putPolicy(ctx context.Context, b store.Bucket, name string) (runs.Policy, error) {
	ref, err := store.PutBlob(ctx, b, []byte("policy "+name))

	return runs.Policy{Digest: ref.SHA256, Tensor: ref.SHA256}, err
}
