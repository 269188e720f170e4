//go:build integration

package scale

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/test/kit/pipeline"
)

// processes are the processes that are measured.
var processes = []string{pipeline.Worker, pipeline.Temporal, pipeline.S3}

func TestMain(m *testing.M) {
	pipeline.Main()
	os.Exit(m.Run())
}

// measured is a pipeline whose costs are measured.
type measured struct {
	t        *testing.T
	pipeline *pipeline.Pipeline
	client   client.Client
	bucket   store.Bucket
	began    time.Time
	series   map[string][]float64
}

func start(t *testing.T, env ...string) *measured {
	t.Helper()
	local, err := filepath.Abs("../../bin/collabui-local")
	if err != nil {
		t.Fatal(err)
	}
	p, err := pipeline.New(t.TempDir(), local)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	for _, name := range []string{pipeline.Temporal, pipeline.S3, pipeline.Redis} {
		if err := p.Start(name); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.StartWorker(p.Services, env...); err != nil {
		t.Fatal(err)
	}
	m := &measured{t: t, pipeline: p, began: time.Now(), series: map[string][]float64{}}
	if m.bucket, err = p.Bucket(); err != nil {
		t.Fatal(err)
	}
	if m.client, err = p.Client(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.client.Close)

	return m
}

// cost is the consumption of processes since they began.
type cost struct {
	wall   float64            // seconds
	cpu    map[string]float64 // seconds by process
	memory map[string]float64 // MB by process
	series map[string][]float64
	events int // of the longest history
}

// measure returns the consumption so far.
func (m *measured) measure() cost {
	c := cost{wall: time.Since(m.began).Seconds(), cpu: map[string]float64{}, memory: map[string]float64{}}
	for _, name := range processes {
		c.cpu[name], c.memory[name] = usage(m.t, m.pipeline.PID(name))
	}

	return c
}

// sample records the memory of every process.
func (m *measured) sample() {
	for name, mb := range m.measure().memory {
		m.series[name] = append(m.series[name], mb)
	}
}

// watch samples until done returns.
func (m *measured) watch(done func() error) {
	end := make(chan error, 1)
	go func() { end <- done() }()
	for {
		select {
		case err := <-end:
			if err != nil {
				m.t.Fatal(err)
			}

			return
		case <-time.After(time.Second):
			m.sample()
		}
	}
}

// since returns the consumption since an earlier measurement.
func (m *measured) since(before cost) cost {
	now := m.measure()
	now.wall -= before.wall
	for name := range now.cpu {
		now.cpu[name] -= before.cpu[name]
	}
	now.series, now.events = m.series, m.longest()

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
