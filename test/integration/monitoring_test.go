//go:build integration

package integration

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/collabui/collabui/envadapters/openenv"
	"github.com/collabui/collabui/envadapters/scripted"
	"github.com/collabui/collabui/internal/local/supervisor"
)

// prometheus is a real Prometheus that reads a worker's metrics every second.
type prometheus struct {
	t    *testing.T
	addr string
}

// scrapes is its configuration.
const scrapes = `global: {scrape_interval: 1s}
scrape_configs:
  - job_name: collabui
    static_configs: [{targets: ['%s']}]
`

// newPrometheus starts a Prometheus.
func newPrometheus(t *testing.T, config string) *prometheus {
	t.Helper()
	dir := os.Getenv("COLLABUI_PROMETHEUS")
	if dir == "" {
		t.Skip("set COLLABUI_PROMETHEUS to a folder with prometheus and promtool, or run `make integration`")
	}
	p := &prometheus{t, freeAddr(t)}
	file := filepath.Join(t.TempDir(), "prometheus.yaml")
	if err := os.WriteFile(file, []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(dir, "prometheus"), "--config.file", file, "--storage.tsdb.path", t.TempDir(),
		"--web.listen-address", p.addr)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Signal(syscall.SIGKILL); _ = cmd.Wait() })

	return p
}

// series returns the number of series that a query has now, or -1 if it is refused or Prometheus does not answer.
func (p *prometheus) series(query string) int {
	r, err := http.Get("http://" + p.addr + "/api/v1/query?query=" + url.QueryEscape(query))
	if err != nil {
		return -1
	}
	defer func() { _ = r.Body.Close() }()
	var x struct {
		Status string `json:"status"`
		Data   struct {
			Result []json.RawMessage `json:"result"`
		} `json:"data"`
	}
	if err := json.NewDecoder(r.Body).Decode(&x); err != nil || x.Status != "success" {
		return -1
	}

	return len(x.Data.Result)
}

// panel is a panel of the dashboard.
type panel struct {
	Type, Title string
	Targets     []struct{ Expr, LegendFormat string }
}

// panels returns the panels of the dashboard.
func panels(t *testing.T) []panel {
	t.Helper()
	raw, err := os.ReadFile("../../deploy/monitoring/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var d struct{ Panels []panel }
	if err := json.Unmarshal([]byte(strings.ReplaceAll(string(raw), "$__rate_interval", "1m")), &d); err != nil {
		t.Fatal(err)
	}

	return d.Panels
}

// queries returns the queries of the dashboard by panel.
func queries(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, p := range panels(t) {
		for i, q := range p.Targets {
			out[fmt.Sprintf("%s, query %d", p.Title, i+1)] = q.Expr
		}
	}

	return out
}

// emptyPanels have no data in a run of the small policy without schedules.
var emptyPanels = map[string]bool{"Missed firings, query 1": true, "Progress of open updates, query 1": true}

// alerts returns the expressions of the alerts.
func alerts(t *testing.T) map[string]string {
	t.Helper()
	raw, err := os.ReadFile("../../deploy/monitoring/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var f struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	if err := yaml.Unmarshal(raw, &f); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, r := range f.Groups[0].Rules {
		out[r.Alert] = r.Expr
	}

	return out
}

// TestDashboardAndAlertsOfARealRun sends a real Prometheus every query of the dashboard about a real run, and every
// alert. No alert holds while the run is healthy. Then faults are injected, and their alerts hold. promtool tests the
// times for which an alert must hold, and the other alerts, on written series.
func TestDashboardAndAlertsOfARealRun(t *testing.T) {
	t.Parallel()
	h, err := openenv.Handler(&scripted.Suite{Length: 2})
	if err != nil {
		t.Fatal(err)
	}
	pages := httptest.NewServer(h)
	t.Cleanup(pages.Close)
	m := newMachine(t, strings.Replace(
		fmt.Sprintf(heldRun, strings.TrimPrefix(pages.URL, "http://"), demonstrated), "epochs: 2", "epochs: 40", 1))
	m.must("up")
	p := newPrometheus(t, fmt.Sprintf(scrapes, m.service(string(supervisor.Worker)).Addr))
	m.must("train", m.spec, "--detach")

	m.committed(4, 3*time.Minute)
	all := queries(t)
	var lacks []string
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Second) {
		lacks = nil
		for name, q := range all {
			if n := p.series(q); n < 0 || n == 0 && !emptyPanels[name] {
				lacks = append(lacks, name+": "+q)
			}
		}
		if lacks == nil {
			break
		}
	}
	if lacks != nil {
		t.Errorf("these panels have no data, want some\n%s", strings.Join(lacks, "\n"))
	}
	for name, q := range alerts(t) {
		if n := p.series(q); n != 0 {
			t.Errorf("alert %s has %d series (-1: refused) in a good run, want none\n%s", name, n, q)
		}
	}

	m.must("pause", "kill", "--why", "a fault")
	m.holds(p, "CollabuiRunHeld", func() {})
	m.must("resume", "kill")
	m.holds(p, "CollabuiStoreFails", func() { // a server that comes back at once is not noticed
		if pid := m.service(string(supervisor.S3)).PID; pid > 1 {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	m.must("down")
	m.holds(p, "CollabuiWorkerDown", func() {})
	m.holds(p, "CollabuiNoControl", func() {})
}

// holds waits until an alert's expression has series, while a fault is repeated.
func (m *machine) holds(p *prometheus, alert string, fault func()) {
	m.t.Helper()
	q := alerts(m.t)[alert]
	m.poll("alert "+alert+" holds: "+q, time.Minute, 500*time.Millisecond, func() bool {
		fault()

		return p.series(q) > 0
	})
}

// TestAlertsFireInTime runs promtool on written series: every alert fires after its time, and stays silent without its
// fault.
func TestAlertsFireInTime(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("COLLABUI_PROMETHEUS")
	if dir == "" {
		t.Skip("set COLLABUI_PROMETHEUS to a folder with prometheus and promtool, or run `make integration`")
	}
	const tests = "../../deploy/monitoring/alerts_test.yaml"
	out, err := exec.Command(filepath.Join(dir, "promtool"), "test", "rules", tests).CombinedOutput()
	if err != nil {
		t.Errorf("promtool: %v, want success\n%s", err, out)
	}
	raw, err := os.ReadFile(tests)
	if err != nil {
		t.Fatal(err)
	}
	for name := range alerts(t) {
		if n := strings.Count(string(raw), name); n < 2 {
			t.Errorf("alerts_test.yaml names %s %d times, want twice: where it fires and where it is silent", name, n)
		}
	}
}
