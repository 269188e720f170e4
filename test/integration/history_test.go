//go:build integration

package integration

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	"github.com/collabui/collabui/workflows"
)

// saveHistories names a folder into which one history of each workflow is written: it is how workflows/testdata is made.
const saveHistories = "COLLABUI_SAVE_HISTORIES"

// replayHistories replays the history of every workflow of this machine under the present code.
func (m *machine) replayHistories() {
	m.t.Helper()
	ctx, quiet := context.Background(), log.NewStructuredLogger(slog.New(slog.NewTextHandler(io.Discard, nil)))
	c, err := client.Dial(client.Options{HostPort: m.service("temporal").Addr, Namespace: "collabui", Logger: quiet})
	if err != nil {
		m.t.Fatal(err)
	}
	defer c.Close()
	r := worker.NewWorkflowReplayer()
	for _, f := range workflows.All {
		r.RegisterWorkflow(f)
	}
	var next []byte
	saved, replayed := map[string]bool{}, 0
	for {
		page, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{NextPageToken: next})
		if err != nil {
			m.t.Fatal(err)
		}
		for _, x := range page.Executions {
			h := &historypb.History{}
			for it := c.GetWorkflowHistory(ctx, x.Execution.WorkflowId, x.Execution.RunId, false, 0); it.HasNext(); {
				e, err := it.Next()
				if err != nil {
					m.t.Fatal(err)
				}
				h.Events = append(h.Events, e)
			}
			if err := r.ReplayWorkflowHistory(quiet, h); err != nil {
				m.t.Errorf("%s does not replay: %v", x.Execution.WorkflowId, err)
			}
			replayed++
			if dir := os.Getenv(saveHistories); dir != "" && !saved[x.Type.Name] {
				saved[x.Type.Name] = true
				raw, err := temporalproto.CustomJSONMarshalOptions{}.Marshal(h)
				host, err2 := os.Hostname()
				if err = errors.Join(err, err2); err == nil {
					err = os.WriteFile(filepath.Join(dir, x.Type.Name+".json"), bytes.ReplaceAll(raw, []byte(host), []byte("host")), 0o644)
				}
				if err != nil {
					m.t.Fatal(err)
				}
			}
		}
		if next = page.NextPageToken; len(next) == 0 {
			break
		}
	}
	if replayed < 10 {
		m.t.Errorf("only %d histories", replayed)
	}
	m.t.Logf("%d histories replayed", replayed)
}
