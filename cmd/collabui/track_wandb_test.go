package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/interop"
	"github.com/collabui/collabui/internal/store/runs"
)

// TestOtherToolsKeepARunOfWandbOnce tracks a run by the package of Weights & Biases, offline. The first program is
// killed, so that its file ends in the middle of a record, and the run goes on in others.
func TestOtherToolsKeepARunOfWandbOnce(t *testing.T) {
	python := os.Getenv("COLLABUI_WANDB_PYTHON")
	if python == "" {
		t.Skip("COLLABUI_WANDB_PYTHON names no Python with W&B: `make tools` installs one")
	}
	dir := t.TempDir()
	t.Setenv("WANDB_MODE", "offline")
	t.Setenv("WANDB_DIR", dir)
	t.Setenv("WANDB_API_KEY", strings.Repeat("secret0123", 4))
	run, b := curvedRun(t)
	x := tracked{Run: string(run)}
	send := func(project string) {
		t.Helper()
		w := &interop.Wandb{Python: python, Entity: "team", Project: project} // another process each time
		if err := errors.Join(x.send(t.Context(), b, w), w.Close()); err != nil {
			t.Fatal(err)
		}
	}
	send("other") // the same run elsewhere
	if err := os.Rename(filepath.Join(dir, "wandb"), filepath.Join(dir, "elsewhere")); err != nil {
		t.Fatal(err)
	}
	x = tracked{Run: string(run)}
	send("agents")
	first, err := filepath.Glob(filepath.Join(dir, "wandb", "offline-run-*", "*.wandb"))
	if err != nil || len(first) != 1 {
		t.Fatalf("got the files %v (%v), want one", first, err)
	}
	whole, err := os.ReadFile(first[0])
	if err == nil {
		err = os.WriteFile(first[0], whole[:len(whole)*6/10], 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	type has struct {
		IDs    []string
		Config int
		Steps  []int
		Curves map[string]curve
	}
	cut := readBy[has](t, python, "wandb", filepath.Join(dir, "wandb"))

	x = tracked{Run: string(run)}
	send("agents")
	put(t, b, run.End(), runs.End{Best: 2})
	send("agents")
	if !x.Ended {
		t.Error("the run is open after its end was sent, want it ended")
	}
	sent := x.Points
	send("agents")
	if x.Points != sent {
		t.Errorf("%d values were sent again, want none", x.Points-sent)
	}

	got := readBy[has](t, python, "wandb", filepath.Join(dir, "wandb"))
	if !slices.Equal(got.IDs, []string{"team/agents/" + string(run)}) || got.Config < 50 {
		t.Errorf("W&B has the runs %v with %d parameters, want one with all", got.IDs, got.Config)
	}
	if n := len(cut.Steps); n == 0 || n >= len(got.Steps) {
		t.Errorf("the file that was cut has %d rows of %d, want some of them", n, len(got.Steps))
	}
	slices.Sort(got.Steps)
	for i, s := range got.Steps {
		if s != i {
			t.Fatalf("W&B has the rows %v, want each once", got.Steps)
		}
	}
	want := tracks(t, run, b)
	for key, points := range want {
		if !slices.Equal(got.Curves[key], points) {
			t.Errorf("W&B has %s = %v, want %v", key, got.Curves[key], points)
		}
	}
	for key := range got.Curves {
		if want[key] == nil && !strings.HasPrefix(key, "result/") {
			t.Errorf("W&B has %s = %v, want no such curve", key, got.Curves[key])
		}
	}
}

func TestAnInterpreterWithoutWandbSaysSo(t *testing.T) {
	run, b := curvedRun(t)
	x := tracked{Run: string(run)}
	w := &interop.Wandb{Python: "python3", Project: "p"}
	t.Setenv("PYTHONPATH", t.TempDir())
	if err := os.WriteFile(filepath.Join(os.Getenv("PYTHONPATH"), "wandb.py"),
		[]byte("raise ModuleNotFoundError(\"No module named 'wandb'\")\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := x.send(t.Context(), b, w)
	if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "python3 has no package wandb") {
		t.Errorf("send = %v, want an invalid fault that names the interpreter", err)
	}
}

// TestWandbSeesNoOtherSecrets: its package has the variables that belong to it, and no key of a model or of the store.
func TestWandbSeesNoOtherSecrets(t *testing.T) {
	dir := t.TempDir()
	seen := filepath.Join(dir, "seen")
	python := filepath.Join(dir, "python")
	script := "#!/bin/sh\nenv >" + seen + "\necho '{\"error\": \"enough\"}'\n"
	if err := os.WriteFile(python, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	wants := map[string]bool{
		"WANDB_API_KEY": true, "WANDB_MODE": true, "HTTPS_PROXY": true, "https_proxy": true, "SSL_CERT_FILE": true,
		"HOME": true, "OPENAI_API_KEY": false, "COLLABUI_S3_SECRET_KEY": false, "COLLABUI_PAYLOAD_KEYS": false,
		"AWS_SECRET_ACCESS_KEY": false, "MLFLOW_TRACKING_TOKEN": false, "XWANDB_API_KEY": false, "DATABASE_URL": false,
	}
	for name := range wants {
		t.Setenv(name, "canary")
	}

	run, b := curvedRun(t)
	x := tracked{Run: string(run)}
	if err := x.send(t.Context(), b, &interop.Wandb{Python: python, Project: "p"}); err == nil {
		t.Fatal("send succeeded, want the error of the program")
	}
	raw, err := os.ReadFile(seen)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range wants {
		if got := slices.Contains(strings.Split(string(raw), "\n"), name+"=canary"); got != want {
			t.Errorf("the program sees %s: %v, want %v", name, got, want)
		}
	}
}
