//go:build integration

package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

// roles are the services of compose.yaml whose workers a run with the small policy needs.
var roles = []string{"control", "rollout", "model", "trainer"}

// two starts two workers of every role.
func (x *stack) two(program, build string) {
	for _, role := range roles {
		for i := range 2 {
			x.workers(fmt.Sprintf("%s-%s-%d", build, role, i+1), role, program, build)
		}
	}
}

// TestTheStackByHand plays a run on the services that deploy/compose starts, with two workers of every role. One of
// each is killed in the middle, one is drained, and then the rest give way to another build. The run ends with the
// digest that it has on one machine with embedded services. Every panel of the dashboard has data, and only the alerts
// about killed or stopped workers hold.
func TestTheStackByHand(t *testing.T) {
	began := time.Now()
	x := newStack(t)
	t.Logf("services with their tables, namespace and bucket were up after %.0f s", time.Since(began).Seconds())
	plain := newMachine(t, stacked)
	plain.must("train", plain.spec)
	digests := map[string]string{"one machine": plain.sound(time.Minute).FinalDigest}
	plain.must("down")

	program := newBuild(t)
	began = time.Now()
	x.two(binary("collabui"), "old")
	t.Logf("two workers of every role were ready after %.0f s more", time.Since(began).Seconds())
	x.promote("old")
	view := freeAddr(t)
	x.up("viewer", x.as("viewer", x.starts(binary("collabui"), "view", "--cluster", "--listen", view)))
	p := x.prometheus()
	x.must("train", x.spec, "--detach")

	x.committed(1, 5*time.Minute)
	for _, host := range []string{"old-control-1", "old-rollout-1", "old-model-1", "old-trainer-1"} {
		x.hosts[host].signal(syscall.SIGKILL)
	}
	x.committed(2, 5*time.Minute)
	x.hosts["old-rollout-2"].signal(syscall.SIGTERM) // drained while the only other one is gone
	x.eventually("the drained worker has ended", 2*time.Minute, func() bool {
		return zombie(x.hosts["old-rollout-2"].procs[0].Process.Pid)
	})
	x.workers("old-rollout-3", "rollout", binary("collabui"), "old")
	x.committed(3, 5*time.Minute)
	x.two(program, "new")
	x.promote("new")
	x.poll("an epoch is played by build new", 5*time.Minute, time.Second, func() bool {
		by := x.epochsByBuild()

		return by[len(by)] == "new"
	})
	for name, h := range x.hosts {
		if strings.HasPrefix(name, "old-") && len(h.procs) > 0 && !zombie(h.procs[0].Process.Pid) {
			_ = syscall.Kill(-h.procs[0].Process.Pid, syscall.SIGTERM) // the killed ones are gone
		}
	}
	digests["stack"] = x.sound(10 * time.Minute).FinalDigest
	allEqual(t, digests)
	for _, host := range []string{"temporal", "postgres", "s3", "policy"} {
		t.Logf("processor time of %s, from its start: %.0f s", host, processorTime(x.hosts[host].procs[0].Process.Pid))
	}
	by := x.epochsByBuild()
	t.Logf("epochs by build: %v", by)
	if by[1] != "old" || by[len(by)] != "new" {
		t.Errorf("epochs were played by %v, want the first by old and the last by new", by)
	}
	x.replayHistoriesAt(x.temporal)
	x.figures(p, view)
}

// processorTime returns the processor time of a process and its descendants, living or not, in seconds.
func processorTime(pid int) (seconds float64) {
	const userHZ = 100 // ticks per second
	for _, p := range append(descendants(pid), process{pid: pid}) {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.pid))
		if err != nil {
			continue // it has just ended
		}
		fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
		own := fields[11:13] // user and system
		if p.pid == pid {
			own = fields[11:15] // and the times of children that it has waited for
		}
		for _, f := range own {
			ticks, _ := strconv.Atoi(f)
			seconds += float64(ticks) / userHZ
		}
	}

	return seconds
}

// zombie reports whether a process has ended, waited for or not.
func zombie(pid int) bool {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))

	return err != nil || strings.Contains(string(raw), ") Z ")
}

// prometheus starts a Prometheus with the configuration and the alerts of deploy/, whose names stand for our processes.
func (x *stack) prometheus() *prometheus {
	x.t.Helper()
	var config map[string]any
	raw, err := os.ReadFile("../../deploy/compose/prometheus.yml")
	if err == nil {
		err = yaml.Unmarshal(raw, &config)
	}
	if err != nil {
		x.t.Fatal(err)
	}
	config["global"] = map[string]any{"scrape_interval": "2s"}
	config["rule_files"] = []string{absolute(x.t, "../../deploy/monitoring/alerts.yaml")}
	targets := x.file("targets")
	for _, c := range config["scrape_configs"].([]any) {
		job := c.(map[string]any)
		delete(job, "dns_sd_configs")
		delete(job, "static_configs")
		job["file_sd_configs"] = []any{map[string]any{
			"files": []string{filepath.Join(targets, job["job_name"].(string)+".yaml")}, "refresh_interval": "2s",
		}}
	}

	text, err := yaml.Marshal(config)
	if err != nil {
		x.t.Fatal(err)
	}

	return newPrometheus(x.t, string(text))
}

// measured makes Prometheus scrape an address as part of a job.
func (x *stack) measured(job, addr string) {
	x.t.Helper()
	x.metrics[job] = append(x.metrics[job], addr)
	text := fmt.Sprintf("- targets: [%s]\n", strings.Join(x.metrics[job], ", "))
	x.write(filepath.Join("targets", job+".yaml"), text)
}

// temporalUI starts the Temporal UI and the codec server that lets it show payloads, and returns their addresses.
func (x *stack) temporalUI() (ui, codec string) {
	x.t.Helper()
	ui, codec = freeAddr(x.t), freeAddr(x.t)
	x.up("ui", x.foreign("ui", x.environment("ui", "TEMPORAL_UI_PORT="+port(ui),
		"TEMPORAL_CODEC_ENDPOINT=http://"+codec), "ui-server", "--root", x.programs, "--env", "docker", "start"))
	args := strings.Replace(x.services["codec"].Command, "0.0.0.0:8086", codec, 1)
	x.services["codec"].Environment["COLLABUI_UI"] = "http://" + ui
	x.up("codec", x.as("codec", x.starts(binary("collabui"), strings.Fields(args)...)))
	x.answers("ui", "http://"+ui+"/healthz")
	x.answers("codec", "http://"+codec+"/health")

	return ui, codec
}

// figures checks the data of the run in Prometheus, and opens the pages that a person would open.
func (x *stack) figures(p *prometheus, view string) {
	for name, q := range queries(x.t) {
		if n := p.series(q); n < 0 || n == 0 && !emptyPanels[name] {
			x.t.Errorf("panel %s has %d series (-1: refused), want some\n%s", name, n, q)
		}
	}
	var hold []string
	for name, q := range alerts(x.t) {
		if n := p.series(q); n != 0 {
			hold = append(hold, name)
		}
	}
	slices.Sort(hold)
	if want := []string{"CollabuiWorkerDown"}; !slices.Equal(hold, want) { // the workers of build old
		x.t.Errorf("the expressions of %v hold, want those of %v", hold, want)
	}
	person := "http://x:view-0123456789@" // a person with the key
	x.looks("viewer.png", "Success by epoch", person+view+"/#/run/kill")
	ui, codec := x.temporalUI()
	x.looks("temporal-ui.png", `"Name": "kill"`, person+codec, "http://"+ui+"/namespaces/collabui/workflows/kill")
}
