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

// TestHistoriesOfFormerCodeReplay protects runs in progress from changes of workflows. Every folder of testdata has the
// histories of a version of the code, which stay; `make histories` records those of the present one.
func TestHistoriesOfFormerCodeReplay(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.json*")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 6 {
		t.Fatalf("found the histories %v, want at least 6", files)
	}

	for _, f := range files {
		t.Run(strings.TrimPrefix(f, "testdata/"), func(t *testing.T) {
			raw := history(t, f)
			if err := replay(t, raw); err != nil {
				t.Errorf("replay(%s) = %v, want no error: a run in progress would not continue with this code", f, err)
			}
		})
	}
}

// history reads a history, which may be packed.
func history(t *testing.T, file string) []byte {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err == nil && strings.HasSuffix(file, ".gz") {
		var z *gzip.Reader
		if z, err = gzip.NewReader(bytes.NewReader(raw)); err == nil {
			raw, err = io.ReadAll(z)
		}
	}
	if err != nil {
		t.Fatal(err)
	}

	return raw
}

// TestHistoriesHaveEverythingThatCanHappen: every workflow, and every kind of event on which a workflow may depend.
func TestHistoriesHaveEverythingThatCanHappen(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.json*")
	if err != nil {
		t.Fatal(err)
	}
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
		`"signalName":"turn"`,
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
	raw, err := os.ReadFile("testdata/0026dc7/Episode.json")
	if err != nil {
		t.Fatal(err)
	}

	other := bytes.Replace(raw, []byte(`"name":"Credit"`), []byte(`"name":"Pairing"`), 1)
	if err := replay(t, other); err == nil {
		t.Error("a history with other activities replays, want an error")
	}
}
