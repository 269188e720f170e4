package main

import (
	"cmp"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/interop"
	"github.com/collabui/collabui/internal/process/proc"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
)

func TestTrackRefusesOtherServers(t *testing.T) {
	t.Setenv(envPython, "python3")
	for _, to := range []string{"", "mlflow", "wandb=", "wandb=a/b/c", "mlflow=127.0.0.1:5000", "mlflow=ftp://h", "mlflow=http://u:p@h"} {
		if _, err := (trackOptions{to: to, experiment: "e"}).tracker(); fault.KindOf(err) != fault.Invalid {
			t.Errorf("tracker of %q = %v, want an invalid fault", to, err)
		}
	}
	for _, to := range []string{"mlflow=https://h", "wandb=a", "wandb=team/a.b-c"} {
		if _, err := (trackOptions{to: to, experiment: "e"}).tracker(); err != nil {
			t.Errorf("tracker of %s = %v, want no error", to, err)
		}
	}
	t.Setenv(envPython, "")
	if _, err := (trackOptions{to: "wandb=a"}).tracker(); fault.KindOf(err) != fault.Invalid {
		t.Errorf("tracker of W&B without an interpreter = %v, want an invalid fault", err)
	}
}

// mlflowServer starts a real tracking server on the loopback.
func mlflowServer(t *testing.T) *url.URL {
	t.Helper()
	python := os.Getenv("COLLABUI_MLFLOW_PYTHON")
	if python == "" {
		t.Skip("COLLABUI_MLFLOW_PYTHON names no Python with MLflow: `make tools` installs one")
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	_, port, _ := net.SplitHostPort(address)
	_ = free.Close()

	dir := t.TempDir()
	c := exec.Command(python, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", port,
		"--workers", "1", "--backend-store-uri", "sqlite:///"+dir+"/mlflow.db", "--artifacts-destination", dir)
	c.Dir = dir
	var said strings.Builder
	c.Stdout, c.Stderr = &said, &said
	c.Env = append(os.Environ(), "MLFLOW_SERVER_ENABLE_JOB_EXECUTION=false", "DO_NOT_TRACK=true")
	if err := proc.Start(c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		proc.KillGroup(c)
		_ = c.Wait()
	})
	u := &url.URL{Scheme: "http", Host: address}
	for begin := time.Now(); ; time.Sleep(200 * time.Millisecond) {
		answer, err := http.Get(u.String() + "/health")
		if err == nil {
			_ = answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return u
			}
		}
		if time.Since(begin) > 2*time.Minute {
			t.Fatalf("the server answers %v after two minutes, want health\n%s", err, said.String())
		}
	}
}

// TestOtherToolsKeepATrackedRunOnce tracks a run with a real server of MLflow over a connection that breaks after
// every request, one request later each time, and checks that the server has every value once.
func TestOtherToolsKeepATrackedRunOnce(t *testing.T) {
	server := mlflowServer(t)
	proxy := httputil.NewSingleHostReverseProxy(server)
	left := 0
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if left--; left < -1 {
			http.Error(w, "the network is down", http.StatusBadGateway)
			return
		}
		if left == -1 { // the server does what it is asked, but its answer is lost
			proxy.ServeHTTP(httptest.NewRecorder(), r)
			http.Error(w, "the answer is lost", http.StatusBadGateway)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	defer broken.Close()

	run, b := curvedRun(t)
	x := tracked{Run: string(run)}
	send := func(requests int) error {
		left = requests
		one := &interop.MLflow{URL: broken.URL, Experiment: "an experiment & more"} // another process each time

		return x.send(t.Context(), b, one)
	}
	for requests := 2; ; requests++ { // two, so that the run itself is created once
		err := send(requests)
		if err == nil {
			break
		}
		if fault.KindOf(err) != fault.Transient || requests > 100 {
			t.Fatalf("send with %d requests = %v, want a transient fault", requests, err)
		}
	}
	if x.Ended {
		t.Error("the run has ended, want that it is open")
	}
	put(t, b, run.End(), runs.End{Best: 2})
	if err := send(100); err != nil || !x.Ended {
		t.Errorf("send after the end = %v, ended %v; want the end", err, x.Ended)
	}
	sent := x.Points
	if err := send(100); err != nil || x.Points != sent {
		t.Errorf("send again = %v with %d values, want none", err, x.Points-sent)
	}
	hasEachValueOnce(t, server.String(), run, b)
}

// tracks are the curves of a run, and its result, as a server is to have them.
func tracks(t *testing.T, run runs.Run, b store.Bucket) map[string]curve {
	t.Helper()
	r, err := interop.Read(t.Context(), b, run)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]curve{}
	for _, p := range r.Curves() {
		want[p.Tag()] = append(want[p.Tag()], [2]float64{float64(p.Step), p.Value})
	}
	want["result/trained-2/val"] = curve{{2, 0.75}}

	return want
}

// ask calls MLflow's REST API.
func ask[T any](t *testing.T, server, path, body string) (v T) {
	t.Helper()
	var answer *http.Response
	var err error
	if body == "" {
		answer, err = http.Get(server + "/api/2.0/mlflow/" + path)
	} else {
		answer, err = http.Post(server+"/api/2.0/mlflow/"+path, "application/json", strings.NewReader(body))
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	raw, err := io.ReadAll(answer.Body)
	if err == nil {
		err = json.Unmarshal(raw, &v)
	}
	if err != nil {
		t.Fatalf("%s = %s, %v; want JSON", path, raw, err)
	}

	return v
}

// hasEachValueOnce compares what the server has with the curves of a run.
func hasEachValueOnce(t *testing.T, server string, run runs.Run, b store.Bucket) {
	t.Helper()
	found := ask[struct {
		Runs []struct {
			Info struct {
				ID     string `json:"run_id"`
				Status string
			}
			Data struct{ Params []map[string]string }
		}
	}](t, server, "runs/search", `{"experiment_ids":["1"]}`)
	if len(found.Runs) != 1 || found.Runs[0].Info.Status != "FINISHED" || len(found.Runs[0].Data.Params) < 50 {
		t.Fatalf("the server has %+v, want one finished run with parameters", found)
	}
	for key, points := range tracks(t, run, b) {
		path := "metrics/get-history?run_id=" + found.Runs[0].Info.ID + "&metric_key=" + url.QueryEscape(key)
		got := ask[struct {
			Metrics []struct{ Step, Value float64 }
		}](t, server, path, "")
		var has curve
		for _, m := range got.Metrics {
			has = append(has, [2]float64{m.Step, m.Value})
		}
		slices.SortFunc(has, func(a, b [2]float64) int { return cmp.Compare(a[0], b[0]) })
		if !slices.Equal(has, points) {
			t.Errorf("the server has %s = %v, want %v", key, has, points)
		}
	}
}
