package workflows_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	"github.com/collabui/collabui/workflows"
)

// replay runs a history, as JSON, under the present code.
func replay(t *testing.T, raw []byte) error {
	t.Helper()
	h, err := client.HistoryFromJSON(bytes.NewReader(raw), client.HistoryJSONOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r := worker.NewWorkflowReplayer()
	for _, f := range workflows.All {
		r.RegisterWorkflow(f)
	}
	silent := slog.New(slog.NewTextHandler(io.Discard, nil))

	return r.ReplayWorkflowHistory(log.NewStructuredLogger(silent), h)
}

// recorded returns the files of the recorded histories. Each folder of testdata has those of one version of the code,
// with every workflow.
func recorded(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*/*.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < len(workflows.All) {
		t.Fatalf("testdata has %d histories, want every workflow: record them with `make histories`", len(files))
	}

	return files
}

// TestHistoriesOfFormerCodeReplay protects runs in progress from changes of workflows.
func TestHistoriesOfFormerCodeReplay(t *testing.T) {
	for _, f := range recorded(t) {
		t.Run(strings.TrimPrefix(f, "testdata/"), func(t *testing.T) {
			raw := history(t, f)
			if err := replay(t, raw); err != nil {
				t.Errorf("replay(%s) = %v, want no error: a run in progress would not continue with this code", f, err)
			}
		})
	}
}

// history reads a packed history.
func history(t *testing.T, file string) []byte {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}

	return raw
}

// TestHistoriesHaveEverythingThatCanHappen: every workflow, and every kind of event on which a workflow may depend.
func TestHistoriesHaveEverythingThatCanHappen(t *testing.T) {
	files := recorded(t)
	var all []byte
	for _, f := range files {
		all = append(all, history(t, f)...)
	}
	for _, want := range []string{
		"EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED", "EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED",
		"EVENT_TYPE_TIMER_STARTED", "EVENT_TYPE_ACTIVITY_TASK_FAILED",
		"EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_FAILED", "EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_CANCELED",
		"EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW", "EVENT_TYPE_EXTERNAL_WORKFLOW_EXECUTION_SIGNALED",
		"/shard/0001", "/shard/0401", "PlanAhead",
	} {
		if !bytes.Contains(all, []byte(want)) {
			t.Errorf("no history has %s, want one", want)
		}
	}
	for _, f := range workflows.All {
		name := runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name()
		name = name[strings.LastIndexByte(name, '.')+1:]
		begins := func(file string) bool { return strings.HasPrefix(filepath.Base(file), name) }
		if !slices.ContainsFunc(files, begins) {
			t.Errorf("workflow %s has no history, want one", name)
		}
	}
}

func TestAnotherOrderOfActivitiesDoesNotReplay(t *testing.T) {
	files := recorded(t)
	at := slices.IndexFunc(files, func(f string) bool { return strings.HasPrefix(filepath.Base(f), "Shard-") })
	if at < 0 {
		t.Fatalf("testdata has the histories %v, want one of a shard", files)
	}
	raw := history(t, files[at])
	other := bytes.ReplaceAll(raw, []byte(`"CreditAndPairing"`), []byte(`"FitValue"`))
	if bytes.Equal(raw, other) {
		t.Fatalf("%s names no activity CreditAndPairing, want it to", files[at])
	}
	if err := replay(t, other); err == nil {
		t.Error("a history with other activities replays, want an error")
	}
}
