package results

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/test/kit/testrun"
)

// toolsPython returns a Python that has other tools' packages. Without one the test is skipped.
func toolsPython(t *testing.T) string {
	t.Helper()
	python := os.Getenv("COLLABUI_TOOLS_PYTHON")
	if python == "" {
		t.Skip("COLLABUI_TOOLS_PYTHON names no Python with other tools' packages: `make tools` installs one")
	}

	return python
}

// readWith returns what another tool's package has of an export, or of what was logged.
func readWith[T any](t *testing.T, format, dir string) (v T) {
	t.Helper()
	c := exec.CommandContext(t.Context(), toolsPython(t), "testdata/read_tools.py", format, dir)
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
func exportFor(t *testing.T, b store.Bucket, run, as string) (string, conversion) {
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

	r, _ := testrun.Learned(t)
	dir, x := exportFor(t, r.Bucket, "small", asATIF)
	if got := readWith[map[string]trajectory](t, "atif", dir); len(got) != x.Episodes || len(got) != 20 {
		t.Errorf("Harbor has %d trajectories of a run and export wrote %d, want 20", len(got), x.Episodes)
	}
}

// evalLog counts what Inspect's package has of a log.
type evalLog struct {
	Status                                                     string
	Samples, Errors, Retries, Scored, Successes, Models, Tools int
	Accuracy                                                   float64
}

// TestOtherToolsReadLogs reads logs with Inspect's package: whole, their headers and single samples, and with its
// command.
func TestOtherToolsReadLogs(t *testing.T) {
	dir, _ := exportOdd(t, asInspect)
	got := readWith[map[string]evalLog](t, "inspect", dir)
	want := map[string]evalLog{
		"rollouts-epoch-0001.eval":      {"started", 4, 1, 1, 3, 1, 12, 3, 1.0 / 3},
		"epoch-0001.trained-2.val.eval": {"started", 2, 1, 0, 1, 1, 3, 0, 1},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("Inspect has %+v, want %+v", got, want)
	}

	r, end := testrun.Learned(t)
	dir, _ = exportFor(t, r.Bucket, "small", asInspect)
	got = readWith[map[string]evalLog](t, "inspect", dir)
	if l := got["rollouts-epoch-0002.eval"]; l.Status != "success" || l.Samples != 10 || l.Scored != 10 {
		t.Errorf("Inspect has the rollouts %+v, want a complete log with 10 samples", l)
	}
	for _, r := range end.Results {
		if r.System != "trained-4" { // the others have shorter names in tables
			continue
		}
		l := got[fmt.Sprintf("epoch-%04d.%s.%s.eval", end.Best, r.System, r.Split)]
		if l.Successes != r.Successes || l.Scored != r.Episodes || l.Accuracy != r.Rate {
			t.Errorf("Inspect has %+v on %s, want %d successes in %d", l, r.Split, r.Successes, r.Episodes)
		}
	}
}
