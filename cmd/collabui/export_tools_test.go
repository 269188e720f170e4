package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/test/kit/testrun"
)

// readWith returns what another tool's package has of an export.
func readWith[T any](t *testing.T, format, dir string) (v T) {
	t.Helper()
	python := os.Getenv("COLLABUI_TOOLS_PYTHON")
	if python == "" {
		t.Skip("COLLABUI_TOOLS_PYTHON names no Python with other tools' packages: `make tools` installs one")
	}
	c := exec.CommandContext(t.Context(), python, "testdata/read_tools.py", format, dir)
	var said strings.Builder
	c.Stderr = &said
	raw, err := c.Output()
	if err != nil {
		t.Fatalf("read_tools.py %s ends with %v, want what the package has\n%s", format, err, said.String())
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%v, want JSON: %s", err, raw)
	}

	return v
}

// exportFor exports a run for another tool.
func exportFor(t *testing.T, b store.Bucket, run, as string) (string, converted) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "out")
	x, err := exportAs(t.Context(), b, run, exportOptions{as: as, out: dir})
	if err != nil {
		t.Fatal(err)
	}

	return dir, x
}

// trajectory counts what Harbor's package has of one.
type trajectory struct{ Steps, Subagents, Answers int }

// TestOtherToolsReadTrajectories validates trajectories with Harbor's own validator.
func TestOtherToolsReadTrajectories(t *testing.T) {
	dir, _ := exportOdd(t, asATIF)
	got := readWith[map[string]trajectory](t, "atif", dir)
	want := map[string]trajectory{
		"epoch-0001/0001.json": {4, 4, 6}, "epoch-0001/0003.json": {4, 4, 6}, "epoch-0001/0005.json": {1, 0, 0},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("Harbor has %v, want %v", got, want)
	}

	r, _ := testrun.Finished(t)
	dir, x := exportFor(t, r.Bucket, "small", asATIF)
	if got := readWith[map[string]trajectory](t, "atif", dir); len(got) != x.Episodes || len(got) != 20 {
		t.Errorf("Harbor has %d trajectories of a run and export wrote %d, want 20", len(got), x.Episodes)
	}
}
