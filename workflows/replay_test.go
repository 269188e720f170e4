package workflows_test

import (
	"bytes"
	"io"
	"log/slog"
	"os"
	"path/filepath"
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

// TestHistoriesOfFormerCodeReplay protects runs in progress from changes of workflows. For a change that must break
// them, record new histories with
//
//	COLLABUI_SAVE_HISTORIES=$PWD/workflows/testdata go test -tags integration -run TestKill ./test/integration
func TestHistoriesOfFormerCodeReplay(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 6 {
		t.Fatalf("found the histories %v, want at least 6", files)
	}

	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			raw, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if err := replay(t, raw); err != nil {
				t.Errorf("replay(%s) = %v, want no error: a run in progress would not continue with this code", f, err)
			}
		})
	}
}

func TestAnotherOrderOfActivitiesDoesNotReplay(t *testing.T) {
	raw, err := os.ReadFile("testdata/Episode.json")
	if err != nil {
		t.Fatal(err)
	}

	other := bytes.Replace(raw, []byte(`"name":"Credit"`), []byte(`"name":"Pairing"`), 1)
	if err := replay(t, other); err == nil {
		t.Error("a history with other activities replays, want an error")
	}
}
