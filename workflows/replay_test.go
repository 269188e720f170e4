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
	return r.ReplayWorkflowHistory(log.NewStructuredLogger(slog.New(slog.NewTextHandler(io.Discard, nil))), h)
}

// TestHistoriesOfFormerCodeReplay guards runs under way against changes of workflows. A change that must break them
// gives new histories, made by COLLABUI_SAVE_HISTORIES=$PWD/workflows/testdata go test -tags integration -run TestKill
// ./test/integration
func TestHistoriesOfFormerCodeReplay(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) < 6 {
		t.Fatal("histories are missing", files, err)
	}
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			raw, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if err := replay(t, raw); err != nil {
				t.Errorf("a run under way would not go on with this code: %v", err)
			}
		})
	}
}

func TestAnotherOrderOfActivitiesDoesNotReplay(t *testing.T) {
	raw, err := os.ReadFile("testdata/Episode.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := replay(t, bytes.Replace(raw, []byte(`"name":"Credit"`), []byte(`"name":"Pairing"`), 1)); err == nil {
		t.Error("a history with other activities replays")
	}
}
